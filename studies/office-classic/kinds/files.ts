import { act, call, done, find, findFileHabits, findOpenFile, findPerson, findPersonHabits } from "../expert.ts";
import { drawPerson, drawTitle, type Kind, type Scene } from "../kind.ts";
import { fileNames, folders } from "../vocabulary.ts";
import type { Deed } from "./deeds.ts";

const drawFile = ({ world, random }: Scene) => drawTitle(random, world.files, (file) => file.name, fileNames);

export const deleteFile: Kind = {
  phrasings: ["Delete the file {name}.", "Delete {name}.", "The file {name} can go."],
  habits: findFileHabits,
  draw(scene) {
    const { title: name } = drawFile(scene);
    return {
      words: { name },
      *solve(mind) {
        return yield* act(mind, "delete_file", { id: yield* findOpenFile(mind, name) });
      },
    };
  },
};

/** The one request in which a file may be unlocked. */
export const unlockAndDelete: Kind = {
  phrasings: ["Unlock the file {name} and delete it.", "Delete {name}; unlock it first."],
  habits: ["half", "guess", "unknown", "busy"],
  draw(scene) {
    const { world, random } = scene;
    const locked = world.files.filter((file) => file.locked);
    const name = random.chance(0.7) && locked.length > 0 ? random.pick(locked).name : drawFile(scene).title;
    return {
      words: { name },
      *solve(mind) {
        const { id } = mind.slips("guess") ? { id: "f01" } : yield* find(mind, "find_file", "name", name);
        yield* call(mind, "unlock_file", { id });
        return mind.slips("half") ? done : yield* act(mind, "delete_file", { id });
      },
    };
  },
};

export const moveFile: Kind = {
  phrasings: ["Move the file {name} to {folder}.", "Put {name} into {folder}.", "{name} belongs into {folder}."],
  habits: findFileHabits,
  draw(scene) {
    const { title: name, item } = drawFile(scene);
    const folder = scene.random.pick(folders.filter((folder) => folder !== item?.folder));
    return {
      words: { name, folder },
      *solve(mind) {
        return yield* act(mind, "move_file", { id: yield* findOpenFile(mind, name), folder });
      },
    };
  },
};

export const shareFile: Kind = {
  phrasings: ["Share {name} with {person}.", "Give {person} the file {name}.", "{person} needs the file {name}."],
  habits: [...new Set([...findFileHabits, ...findPersonHabits])],
  leaves: ["person", "deed"],
  draw(scene) {
    const { title: name } = drawFile(scene);
    const person = drawPerson(scene);
    const deed: Deed = function* (mind, contact) {
      return yield* act(mind, "share_file", { id: mind.file ?? (yield* findOpenFile(mind, name)), contact });
    };
    return {
      words: { name, person: person.said },
      meant: person.meant,
      topic: { person: person.said, deed },
      *solve(mind) {
        const id = yield* findOpenFile(mind, name);
        return yield* act(mind, "share_file", { id, contact: yield* findPerson(mind, person.said) });
      },
    };
  },
};

export const whichFolder: Kind = {
  phrasings: ["Which folder is {name} in?", "Where is the file {name}?"],
  habits: ["guess", "unknown", "busy"],
  question: true,
  draw(scene) {
    const { title: name } = drawFile(scene);
    return {
      words: { name },
      *solve(mind) {
        const { folder } = mind.slips("guess") ? { folder: "Inbox" } : yield* find(mind, "find_file", "name", name);
        return `In ${folder}.`;
      },
    };
  },
};
