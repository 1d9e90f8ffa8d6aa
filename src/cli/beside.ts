/**
 * Starts a program beside a training run that shows the run in a browser.
 * @param onAddress is given the address of the run's page, once it is known; never, where none could be started
 * @returns ends it
 */
export type StartBeside = (folder: string, onAddress: (url: string) => void) => () => void;

let start: StartBeside = () => () => {};

/** Sets the program. Without one nothing is started. */
export function setBeside(added: StartBeside): void {
  start = added;
}

export const startBeside: StartBeside = (folder, onAddress) => start(folder, onAddress);
