//! The markers of physical addresses, during an import.

use super::file::FileRecords;
use super::merge::DrmemtraceImporter;
use super::record::marker;
use crate::batch::ImportBatch;
use crate::error::ImportError;

impl DrmemtraceImporter {
    /// Keeps the frame of a page if the marker has it. Other markers are counted.
    pub(super) fn place_of_page(
        &mut self,
        current: usize,
        kind: u16,
        value: u64,
        batch: &mut ImportBatch,
    ) -> Result<(), ImportError> {
        let is_place = matches!(kind, marker::VIRTUAL_ADDRESS | marker::NO_PHYSICAL_ADDRESS);
        let file = &self.files[current];
        if self.maker.physical.is_some() && is_place && self.may_switch && !file.in_kernel {
            let (thread, core) = (file.head.thread, file.core);
            let ran = self.threads.run(thread, core, &mut self.maker.fold, batch);
            ran.map_err(|reason| self.bad(current, reason))?;
            self.may_switch = false;
        }
        let maker = &mut self.maker;
        let Some(pages) = &mut maker.physical else {
            match kind {
                marker::TIMESTAMP | marker::CPU_ID => {}
                marker::PHYSICAL_ADDRESS => maker.unkept.physical += 1,
                marker::VIRTUAL_ADDRESS => {}
                _ => maker.unkept.markers += 1,
            }
            return Ok(());
        };
        // References of the kernel are left out, and so are the places of their pages.
        if is_place && self.files[current].in_kernel {
            maker.unkept.markers += 1;
            return Ok(());
        }
        let space = self.threads.space;
        let placed = match kind {
            marker::TIMESTAMP | marker::CPU_ID => Ok(()),
            marker::PAGE_SIZE => pages.page_size(value),
            marker::PHYSICAL_ADDRESS => {
                pages.physical(value);
                Ok(())
            }
            marker::VIRTUAL_ADDRESS => pages.place(space, value, &mut maker.fold, batch),
            marker::NO_PHYSICAL_ADDRESS => {
                pages.unavailable += 1;
                pages.lacks(space, value, &mut maker.fold, batch)
            }
            _ => {
                maker.unkept.markers += 1;
                Ok(())
            }
        };
        placed.map_err(|reason| self.bad(current, reason))
    }

    /// Refuses a trace without physical addresses, at its end.
    pub(super) fn check_physical(&self) -> Result<(), ImportError> {
        match &self.maker.physical {
            Some(pages) if pages.markers == 0 && pages.unavailable > 0 => Err(ImportError::input(
                &self.name,
                "says of every page that its physical address was not to be had: record as root, \
                 or import without --physical",
            )),
            Some(pages) if pages.markers == 0 => Err(ImportError::input(
                &self.name,
                "has no physical addresses: record with `drrun -t drcachesim -offline \
                 -use_physical`, or import without --physical",
            )),
            _ => Ok(()),
        }
    }

    fn bad(&self, current: usize, reason: impl Into<String>) -> ImportError {
        match &self.files[current].records {
            FileRecords::Open(records) => records.bad(reason),
            _ => ImportError::input(&self.name, reason),
        }
    }
}
