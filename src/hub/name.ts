/** The kinds of repositories that are downloaded. */
export type RepoKind = "model" | "dataset";

/** A repository on the Hugging Face Hub, as `owner/name` or `owner/name@revision`. */
export interface HubName {
  /** `owner/name` */
  readonly repo: string;
  /** A branch, a tag or a commit; the Hub's `main` if left out. */
  readonly revision: string | undefined;
}

/** Letters, digits, `-`, `_` and `.`, neither of the last two at an end, nor `--` nor `..`: the Hub's own rule. */
const part = /^(?![-.])(?!.*(?:--|\.\.))[\w.-]{1,96}(?<![-.]|\.git)$/;
/** The names that git allows and a file system can hold. */
const revisionForm = /^(?![/.-])(?!.*(?:\.\.|\/\/))[\w./-]{1,200}(?<!\/)$/;

/** @returns undefined for what cannot be a name on the Hub. The few old models without an owner are no names here */
export function parseHubName(text: string): HubName | undefined {
  const [repo = "", ...revisions] = text.split("@");
  const parts = repo.split("/");
  if (parts.length !== 2 || !parts.every((each) => part.test(each)) || revisions.length > 1) return undefined;
  const [revision] = revisions;
  if (revision !== undefined && !revisionForm.test(revision)) return undefined;
  return { repo, revision };
}

export function formatHubName({ repo, revision }: HubName): string {
  return revision === undefined ? repo : `${repo}@${revision}`;
}
