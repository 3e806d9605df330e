/** Channels for notices between gateways through the database, each with the id of the sender. */

/** Servers have changed. */
export const SERVERS_CHANNEL = 'meanwhile_servers';
/** Work may be left. */
export const WORK_CHANNEL = 'meanwhile_work';
/** The history has new entries. */
export const HISTORY_CHANNEL = 'meanwhile_history';
/** Tokens of an account have changed; with its principal and server, if they are short enough. */
export const ACCOUNTS_CHANNEL = 'meanwhile_accounts';
