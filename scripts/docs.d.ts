export declare function readmeWithReference(): Promise<{
  before: string;
  after: string;
}>;
