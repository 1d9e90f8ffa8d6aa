import { careless, drawFile, drawPerson } from "./draw.ts";
import { act, findFile, toPerson } from "./expert.ts";
import { phrased } from "./grammar.ts";
import type { Kind } from "./kind.ts";
import { close } from "./plan.ts";
import { type FileType, favourites, fileTypes, folderOf, folders } from "./rules.ts";

export const fileAway: Kind = {
  phrasings: phrased({
    train: [
      "put {name} away",
      "file {name}",
      "{name} belongs into a folder",
      "put the file {name} away",
      "{name} needs a folder",
      "the file {name} belongs into a folder",
      "{name}: put away",
    ],
    validation: ["file {name} away", "{name} should be in a folder"],
    challenge: ["the file {name}: put away", "put {name} into a folder", "the file {name} needs a folder"],
  }),
  weight: 3,
  tool: "move_file",
  draw(scene) {
    const name = drawFile(scene);
    return {
      words: { name },
      *solve(state) {
        const file = yield* findFile(state, name, `${name} is in ${favourites.folder}.`);
        const folder = state.chooses("folder", folderOf[typeOf(file.type)], favourites.folder, folders);
        return yield* act(state, "move_file", { id: file.id, folder }, `${name} is in ${folder}.`);
      },
    };
  },
};

function typeOf(type: string): FileType {
  return fileTypes.find((known) => known === type) ?? close("Sorry, I cannot find the type.");
}

export const deleteFile: Kind = {
  phrasings: phrased({
    train: [
      "(|please )delete {name}",
      "delete the file {name}",
      "the file {name} can go",
      "remove the file {name}",
      "{name} can go",
      "the file {name}: delete",
    ],
    validation: ["{name} should go"],
    challenge: ["the file {name} should go", "{name}: delete it", "delete {name}, it can go"],
  }),
  weight: 2.4,
  tool: "delete_file",
  draw(scene) {
    const name = drawFile(scene);
    return {
      words: { name },
      *solve(state) {
        const claim = (type: string) => `The ${type} ${name} is gone.`;
        const file = yield* findFile(state, name, claim(careless.type));
        if (file.locked && !state.slips("locked")) return `Sorry, ${name} is locked.`;
        return yield* act(state, "delete_file", { id: file.id }, claim(file.type));
      },
    };
  },
};

export const share: Kind = {
  phrasings: phrased({
    train: [
      "share {name} with {person}",
      "give {person} the file {name}",
      "{person} needs the file {name}",
      "share the file {name} with {person}",
      "the file {name} for {person}",
      "{person} gets the file {name}",
      "send the file {name} to {person}",
      "give {name} to {person}",
    ],
    validation: ["send {person} the file {name}", "{person} should have the file {name}"],
    challenge: ["the file {name} to {person}", "give the file {name} to {person}", "share with {person} the file {name}"],
  }),
  weight: 4.2,
  tool: "share_file",
  draw(scene) {
    const name = drawFile(scene);
    const { said, meant } = drawPerson(scene);
    return {
      words: { name, person: said },
      meant,
      *solve(state) {
        const claim = (person: string) => `Shared ${name} with ${person}.`;
        const { id, note } = yield* findFile(state, name, claim(said));
        if (note !== undefined && !state.slips("note")) {
          const text = yield { name: "read_note", arguments: { id: note } };
          if (text === "private") return `Sorry, ${name} is private.`;
        }
        return yield* toPerson(state, said, {
          redirects: false,
          claim,
          run: (state, contact, words) => act(state, "share_file", { id, contact }, words),
        });
      },
    };
  },
};
