const maxRedirections = 5;
const redirecting = [301, 302, 303, 307, 308];

/**
 * `fetch`, whose headers go only to the given server. The platform's own sends keys along to wherever a redirect leads,
 * unless they are in the header `authorization`. A server is the same if scheme, host and port are.
 * @throws TypeError after five redirections; what `fetch` throws
 */
export async function fetchFromOrigin(address: string | URL, init: RequestInit = {}): Promise<Response> {
  const { origin } = new URL(address);
  let [url, options] = [new URL(address), init];
  for (let redirections = 0; ; redirections++) {
    const response = await fetch(url, { ...options, redirect: "manual" });
    const location = response.headers.get("location");
    if (!redirecting.includes(response.status) || location === null) return response;
    await response.body?.cancel();
    if (redirections >= maxRedirections) throw new TypeError(`more than ${maxRedirections} redirections`);
    url = new URL(location, url);
    const isGet = response.status === 303 || (response.status < 303 && options.method === "POST");
    if (isGet) options = { ...options, method: "GET", body: undefined };
    // Neither keys nor contents go to another server.
    if (url.origin !== origin) {
      if (options.body !== undefined && options.body !== null)
        throw new TypeError(`a redirection to another server, ${url.origin}`);
      options = { ...options, headers: {} };
    }
  }
}
