//! `import`: another tool's trace, rewritten as one of ours.

use broadleaf_study::failure::Failure;
use broadleaf_study::foreign::{ImportRequest, import};

use crate::args::Import;
use crate::progress::Bars;

pub(crate) fn run(options: &Import) -> Result<(), Failure> {
    let request = ImportRequest {
        format: &options.format,
        input: &options.input,
        output: options.output.as_deref(),
        grain: options.grain.into(),
        instructions: options.instructions,
        physical: options.physical,
        force: options.force,
        watch: &Bars,
    };
    import(&request).map(|_| ())
}
