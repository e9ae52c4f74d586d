//! Structs that add up field by field.

use crate::histogram::Distribution;

/// A struct whose fields can all be added and cleared, so that it can be a field of another such struct.
macro_rules! sums {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }
        impl $name {
            /// Adds the fields of `other` to these.
            pub fn add(&mut self, other: &$name) {
                $(crate::record::sums::Sum::add(&mut self.$field, &other.$field);)*
            }

            /// Sets all fields to zero; distributions that were used keep their memory.
            pub fn clear(&mut self) {
                $(crate::record::sums::Sum::clear(&mut self.$field);)*
            }
        }
        impl crate::record::sums::Sum for $name {
            fn add(&mut self, other: &$name) {
                $name::add(self, other);
            }

            fn clear(&mut self) {
                $name::clear(self);
            }
        }
    };
}

pub(super) trait Sum: Default {
    fn add(&mut self, other: &Self);

    fn clear(&mut self) {
        *self = Self::default();
    }
}

macro_rules! sum_numbers { ($($t:ty),*) => { $(impl Sum for $t { #[inline] fn add(&mut self, other: &$t) { *self += *other } })* } }
sum_numbers!(u64, i64, i128);

impl Sum for Distribution {
    fn add(&mut self, other: &Distribution) {
        self.merge(other);
    }

    fn clear(&mut self) {
        Distribution::clear(self);
    }
}

pub(super) use sums;
