//! The pipeline of a core that follows the code of a trace.

use broadleaf_machine::CoreSpec;
use broadleaf_pipeline::{Decoder, Flow, Pipeline, PipelineSpec};
use broadleaf_trace::CodeTable;
use std::sync::Arc;

/// A pipeline, and the code that it executes.
#[derive(Debug)]
pub(super) struct CodePipeline {
    pub(super) pipeline: Pipeline,
    /// The code of the trace; `None` if the trace has none.
    code: Option<Arc<CodeTable>>,
    /// The decoded patterns, by number.
    decoded: Vec<Option<Arc<[Flow]>>>,
    decoder: Decoder,
}

impl CodePipeline {
    /// An idle pipeline. A mispredicted branch takes this number of cycles, and a load that hits
    /// the first cache `load` cycles.
    pub(super) fn new(spec: &CoreSpec, mispredicted: u64, load: u64) -> Self {
        Self {
            pipeline: Pipeline::new(PipelineSpec {
                width: spec.width,
                window: spec.window as usize,
                mispredicted,
                load,
                units: spec.units,
            }),
            code: None,
            decoded: Vec::new(),
            decoder: Decoder::default(),
        }
    }

    /// The next instructions are of a trace with this code.
    pub(super) fn follow(&mut self, code: Option<Arc<CodeTable>>) {
        self.code = code;
        self.decoded.clear();
        self.pipeline.enter(Arc::from([]));
    }

    /// Begins instructions. They begin the execution of a pattern, unless its number is 0.
    #[inline]
    pub(super) fn advance(&mut self, instructions: u64, execution: u32) {
        if execution != 0 {
            self.enter(execution);
        }
        self.pipeline.advance(instructions);
    }

    #[inline]
    fn enter(&mut self, execution: u32) {
        let known = self
            .decoded
            .get(execution as usize)
            .and_then(Option::as_ref);
        let path = match known {
            Some(path) => Arc::clone(path),
            None => self.decode(execution),
        };
        self.pipeline.enter(path);
    }

    #[cold]
    fn decode(&mut self, execution: u32) -> Arc<[Flow]> {
        let code = self.code.as_ref();
        let pattern = code.and_then(|code| code.pattern(execution));
        let instructions = pattern
            .as_ref()
            .map_or(&[][..], |pattern| pattern.instructions());
        let flows = instructions.iter();
        let flows = flows.map(|one| self.decoder.flow(one.address, one.code()));
        let path: Arc<[Flow]> = flows.collect();
        let place = execution as usize;
        if self.decoded.len() <= place {
            self.decoded.resize(place + 1, None);
        }
        self.decoded[place] = Some(Arc::clone(&path));
        path
    }
}
