//! Floods: which limit one hit (`diagnosis`, from `evidence`), its curve (`curve`), and a
//! flood for each cell of a [`grid`] of heaps and stacks.

pub(crate) mod curve;
pub(crate) mod diagnosis;
pub(crate) mod evidence;
pub mod grid;
