/** Strings that would do something if any page took them for markup. They set `window.pwned`. */
export const EVIL =
  '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>"\'><svg onload=window.pwned=1> [x](javascript:window.pwned=1)';

/** Names of tools may not contain much; this is as bad as they get. */
export const EVIL_NAME = 'constructor';
