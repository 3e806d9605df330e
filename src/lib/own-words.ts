/** A reason in somebody's own words: as a text it is these and nothing else. */
export class OwnWords extends Error {
  override toString(): string {
    return this.message;
  }
}
