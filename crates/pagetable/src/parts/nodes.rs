//! Nodes with numbers, from which their physical addresses follow.

/// Nodes of one kind. A number that a node gave back is used again.
#[derive(Clone, Debug)]
pub(crate) struct Nodes<T> {
    all: Vec<Option<T>>,
    unused: Vec<u32>,
    /// The address of number 0, and the distance of two neighbours as a power of two.
    place: (u64, u32),
}

/// The address bits of one region: each kind of nodes has its own.
const REGION_SHIFT: u32 = 44;

impl<T> Nodes<T> {
    /// No nodes. `region` separates kinds of nodes; nodes lie `1 << shift` bytes apart, so that
    /// each begins on a line of its own.
    pub(crate) const fn new(region: u64, shift: u32) -> Self {
        Self {
            all: Vec::new(),
            unused: Vec::new(),
            place: (region << REGION_SHIFT, shift),
        }
    }

    pub(crate) fn add(&mut self, node: T) -> u32 {
        if let Some(number) = self.unused.pop() {
            self.all[number as usize] = Some(node);
            return number;
        }
        self.all.push(Some(node));
        (self.all.len() - 1) as u32
    }

    /// Gives a number back.
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let node = self.all.get_mut(number as usize)?.take();
        if node.is_some() {
            self.unused.push(number);
        }
        node
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.all.get(number as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.all.get_mut(number as usize)?.as_mut()
    }

    /// The number of nodes in use.
    pub(crate) fn len(&self) -> u64 {
        (self.all.len() - self.unused.len()) as u64
    }

    /// The physical address of a node.
    #[inline]
    pub(crate) const fn address(&self, number: u32) -> u64 {
        self.place.0 + ((number as u64) << self.place.1)
    }
}
