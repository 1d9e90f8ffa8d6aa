import { promises as dns, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { ToolError } from "../../../src/core/errors.ts";

export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export const resolveByDns: Resolve = (hostname) => dns.lookup(hostname, { all: true });

/**
 * True for addresses of the public internet: not those of this machine, of private networks, of a link (where clouds serve their
 * secrets), of groups, nor IPv6 addresses that hold an IPv4 address in some way.
 */
export function isPublicAddress(address: string): boolean {
  return rangeOf(address) === "unicast";
}

export function isLoopback(address: string): boolean {
  return rangeOf(address) === "loopback";
}

/** An IPv4 address in IPv6 clothes is judged as what it is. */
function rangeOf(address: string): string {
  if (!ipaddr.isValid(address)) return "invalid";
  return ipaddr.process(address).range();
}

/**
 * A look-up for a connection, which gives addresses that were checked: the connection goes to them and to no others, so that a
 * name cannot point elsewhere the second time it is asked for.
 */
export function checkedLookup(resolve: Resolve, allowLoopback: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const refused = addresses.find(({ address }) => !isAllowed(address, allowLoopback));
        if (refused !== undefined) return callback(privateAddress(hostname), "", 0);
        const [first] = addresses;
        if (first === undefined)
          return callback(new ToolError("fetch", hostname, { expected: "a host that has an address" }), "", 0);
        if (options.all) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      () => callback(new ToolError("fetch", hostname, { expected: "a host that exists" }), "", 0),
    );
  };
}

/** For a host that is written as an address, which is connected to without a look-up. @throws ToolError */
export function checkHost(hostname: string, allowLoopback: boolean): void {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (ipaddr.isValid(bare) && !isAllowed(bare, allowLoopback)) throw privateAddress(hostname);
}

function isAllowed(address: string, allowLoopback: boolean): boolean {
  return isPublicAddress(address) || (allowLoopback && isLoopback(address));
}

function privateAddress(hostname: string): ToolError {
  return new ToolError("fetch", hostname, { expected: "a host of the public internet", hint: "Private addresses are not read." });
}
