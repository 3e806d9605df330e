/** A reason that a peer gave. As text it is the bare message, without `Error:`. */
export class OwnWords extends Error {
  override toString(): string {
    return this.message;
  }
}
