/** Returns a text without secrets, also in the forms that they have in an address or in JSON. */
export function redact(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  return forms.filter((form) => form !== "").reduce((clean, form) => clean.replaceAll(form, "[key]"), text);
}
