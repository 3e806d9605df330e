/**
 * Loads something with its first use. A failed attempt is forgotten, so that the next use tries again: an update may replace the files
 * of a running program for a moment.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return async () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}
