/** Who sends a request, and whom it is for. */
export interface Addressed {
  principal: string;
  /** The one server that is shown as it is; absent where it is for the hub. */
  server?: string | undefined;
  /** The name that the client gives to its state, if it has no session in the protocol. */
  as?: string | undefined;
}
