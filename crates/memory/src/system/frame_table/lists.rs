//! The lists of the page daemon.

use super::info::{Info, NO_FRAME};
use super::{FrameTable, List};
use crate::frames::Frame;

impl FrameTable {
    pub(crate) const fn length(&self, list: List) -> u64 {
        self.ends[list as usize].count
    }

    pub(crate) fn list(&self, frame: Frame) -> Option<List> {
        self.info(frame).list
    }

    /// Puts a frame at the new end of a list, wherever it was before.
    pub(crate) fn put(&mut self, frame: Frame, list: List) {
        self.leave_list(frame);
        let at = frame.0 as u32;
        let ends = &mut self.ends[list as usize];
        let newest = std::mem::replace(&mut ends.newest, at);
        if newest == NO_FRAME {
            ends.oldest = at;
        }
        ends.count += 1;
        if newest != NO_FRAME {
            self.change(Frame(newest.into()), |info| info.newer = at);
        }
        self.change(frame, |info| {
            info.list = Some(list);
            info.older = newest;
            info.newer = NO_FRAME;
        });
    }

    /// Takes a frame off its list.
    pub(crate) fn leave_list(&mut self, frame: Frame) {
        let Info {
            list, newer, older, ..
        } = self.info(frame);
        let Some(list) = list else { return };
        let ends = &mut self.ends[list as usize];
        ends.count -= 1;
        if newer == NO_FRAME {
            ends.newest = older;
        }
        if older == NO_FRAME {
            ends.oldest = newer;
        }
        if newer != NO_FRAME {
            self.change(Frame(newer.into()), |info| info.older = older);
        }
        if older != NO_FRAME {
            self.change(Frame(older.into()), |info| info.newer = newer);
        }
        self.change(frame, |info| {
            info.list = None;
            info.newer = NO_FRAME;
            info.older = NO_FRAME;
        });
    }

    /// The frame that has been longest on a list.
    pub(crate) fn oldest(&self, list: List) -> Option<Frame> {
        let oldest = self.ends[list as usize].oldest;
        (oldest != NO_FRAME).then_some(Frame(oldest.into()))
    }

    /// The frame that came onto its list after this one.
    pub(crate) fn newer(&self, frame: Frame) -> Option<Frame> {
        let newer = self.info(frame).newer;
        (newer != NO_FRAME).then_some(Frame(newer.into()))
    }
}
