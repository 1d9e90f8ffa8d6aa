import { goldenSuite } from "../../../test/golden-models.ts";

goldenSuite({ threads: 1 }, { thorough: true });
