import type { z } from "zod";
import type { CreateRemoteEnvironment, Wire as NamedWire } from "../../src/environments/registry.ts";
import { nemoGymEnvironment } from "./nemo-gym/nemo-gym.ts";
import { nemoGymSettingsSchema } from "./nemo-gym/settings.ts";
import { openenvEnvironment } from "./openenv/openenv.ts";
import { openenvSettingsSchema } from "./openenv/settings.ts";
import { orsEnvironment } from "./ors/ors.ts";
import { orsSettingsSchema } from "./ors/settings.ts";
import { parseRemoteName, type Wire } from "./shared/address.ts";
import { verifiersSettingsSchema } from "./verifiers/settings.ts";
import { verifiersEnvironment } from "./verifiers/verifiers.ts";

const byWire = {
  openenv: [openenvEnvironment, openenvSettingsSchema],
  ors: [orsEnvironment, orsSettingsSchema],
  verifiers: [verifiersEnvironment, verifiersSettingsSchema],
  "nemo-gym": [nemoGymEnvironment, nemoGymSettingsSchema],
} satisfies Record<Wire, readonly [unknown, z.ZodType]>;

/** Environments on other servers, by their wire: their names are `WIRE:ADDRESS`. */
export const remoteEnvironments: Readonly<Record<string, NamedWire>> = Object.fromEntries(
  Object.entries(byWire).map(([wire, [connect, settings]]) => {
    const open = connect as (name: string, url: string, settings: unknown) => ReturnType<CreateRemoteEnvironment>;
    return [wire, { settings, connect: (name: string, given: unknown) => open(name, parseRemoteName(name), given) }];
  }),
);
