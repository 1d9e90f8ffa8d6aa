import type { Random } from "../../src/core/random.ts";
import { type Archive, cabinetOf, cabinets, favouriteCabinet, places, sides } from "./archive.ts";
import { drawPerson } from "./draw.ts";
import { type ExpertState, toPerson } from "./expert.ts";
import { phrased } from "./grammar.ts";
import type { Kind } from "./kind.ts";
import { close, type Plan } from "./plan.ts";
import { type FileType, fileTypes } from "./rules.ts";
import { refusals } from "./tools.ts";

/** A paper that is looked for is in the cabinet of its type alone. */
function drawPapers(random: Random, { shelves }: Archive, type: FileType): readonly number[] {
  const right = cabinetOf[type];
  const others = cabinets.filter((cabinet) => cabinet !== right).flatMap((cabinet) => shelves[cabinet]);
  return random.shuffle(shelves[right].filter((number) => !others.includes(number))).slice(0, 2);
}

/** The place of a paper, by halves: each look leaves the half in which it must be. */
function* locate(state: ExpertState, number: number): Plan<number> {
  const walks = state.slips("walk");
  let [below, above] = [0, places + 1];
  while (above - below > 1) {
    const place = walks ? below + 1 : Math.floor((below + above) / 2);
    const side = yield { name: "look", arguments: { number, place } };
    if (side === sides.here) return place;
    if (side === sides.lower) above = place;
    else if (side === sides.higher) below = place;
    else break;
  }
  return close(notFound(number));
}

const notFound = (number: number) => `Sorry, I cannot find ${number}.`;

/** Two papers for somebody: a long search. */
export const fetchPapers: Kind = {
  phrasings: phrased({
    train: [
      "(bring|get) {person} the {type}s {one} and {other}",
      "{person} needs the {type}s {one} and {other}",
      "the {type}s {one} and {other} for {person}",
    ],
    validation: ["{person} gets the {type}s {one} and {other}"],
    challenge: ["bring the {type}s {one} and {other} to {person}"],
  }),
  weight: 1,
  tool: "open_cabinet",
  draw(scene) {
    const { archive } = scene.world;
    if (archive === undefined) return undefined;
    const type = scene.random.pick(fileTypes);
    const [one, other] = drawPapers(scene.random, archive, type);
    if (one === undefined || other === undefined) return undefined;
    const { said, meant } = drawPerson(scene);
    const claim = (name: string) => `Brought ${name} the papers ${one} and ${other}.`;
    return {
      words: { person: said, type, one, other },
      meant,
      *solve(state) {
        return yield* toPerson(state, said, {
          redirects: false,
          note: "papers",
          claim,
          *run(state, contact, words) {
            const cabinet = state.chooses("cabinet", cabinetOf[type], favouriteCabinet, cabinets);
            const open = { name: "open_cabinet", arguments: { cabinet } };
            if ((yield open) === refusals.busy && !state.slips("busy")) yield open;
            for (const number of [one, other]) {
              if (number === other && state.slips("half")) break;
              const place = yield* locate(state, number);
              yield { name: "bring", arguments: { place, contact } };
            }
            return words;
          },
        });
      },
    };
  },
};
