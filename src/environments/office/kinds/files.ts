import { act, findFileHabits, findOpenFile } from "../expert.ts";
import { drawTitle, type Kind, type Scene } from "../kind.ts";
import { fileNames } from "../vocabulary.ts";

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
