export type SqlValue = string | number | null;
