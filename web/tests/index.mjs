// All tests of pages, in one process, so that they share one browser and its tab.

import "./all.test.mjs";
import "./compare.test.mjs";
import "./difference.test.mjs";
import "./map.test.mjs";
import "./pages.test.mjs";
