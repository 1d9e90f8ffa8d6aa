import { close } from "../plan.ts";
import { careless, drawFile, drawPerson } from "./draw.ts";
import { act, findFile, toPerson } from "./expert.ts";
import type { Kind } from "./kind.ts";
import { type FileType, favourites, fileTypes, folderOf, folders } from "./rules.ts";

export const fileAway: Kind = {
  phrasings: ["Put {name} away.", "File {name}, please.", "{name} belongs into a folder.", "{name}: put away, please."],
  weight: 2.9,
  tool: "move_file",
  draw(scene) {
    const name = drawFile(scene);
    return {
      words: { name },
      *solve(mind) {
        const file = yield* findFile(mind, name, `${name} is in ${favourites.folder}.`);
        const folder = mind.chooses("folder", folderOf[typeOf(file.type)], favourites.folder, folders);
        return yield* act(mind, "move_file", { id: file.id, folder }, `${name} is in ${folder}.`);
      },
    };
  },
};

function typeOf(type: string): FileType {
  return fileTypes.find((known) => known === type) ?? close("Sorry, I cannot find the type.");
}

export const deleteFile: Kind = {
  phrasings: ["Delete {name}.", "Delete the file {name}.", "The file {name} can go.", "Please delete {name}."],
  weight: 0.8,
  tool: "delete_file",
  draw(scene) {
    const name = drawFile(scene);
    return {
      words: { name },
      *solve(mind) {
        const claim = (type: string) => `The ${type} ${name} is gone.`;
        const file = yield* findFile(mind, name, claim(careless.type));
        if (file.locked ? !mind.slips("locked") : mind.overdoes("locked")) return `Sorry, ${name} is locked.`;
        return yield* act(mind, "delete_file", { id: file.id }, claim(file.type));
      },
    };
  },
};

export const share: Kind = {
  phrasings: [
    "Share {name} with {person}.",
    "Give {person} the file {name}.",
    "{person} needs the file {name}.",
    "The file {name} to {person}, please.",
  ],
  weight: 3,
  tool: "share_file",
  draw(scene) {
    const name = drawFile(scene);
    const { said, meant } = drawPerson(scene);
    return {
      words: { name, person: said },
      meant,
      *solve(mind) {
        const claim = (person: string) => `Shared ${name} with ${person}.`;
        const { id, note } = yield* findFile(mind, name, claim(said));
        if (note !== undefined && mind.overdoes("note")) return `Sorry, ${name} is private.`;
        if (note !== undefined && !mind.slips("note")) {
          const text = yield { name: "read_note", arguments: { id: note } };
          if (text === "private") return `Sorry, ${name} is private.`;
        }
        return yield* toPerson(mind, said, {
          redirects: false,
          note: `share ${name}`,
          claim,
          run: (mind, contact, words) => act(mind, "share_file", { id, contact }, words),
        });
      },
    };
  },
};
