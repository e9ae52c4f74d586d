//! A table of connections with tokens that expire.
//!
//! A token is `generation << 32 | index`. The token of an event or timer that outlives its connection finds
//! nothing, instead of another connection in the same place.

/// Values in reusable places. Each insert returns a unique token.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Place<T>>,
    free_head: Option<u32>,
    occupied: usize,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    content: Content<T>,
}

#[derive(Debug)]
enum Content<T> {
    Vacant { next_free: Option<u32> },
    Occupied(T),
}

impl<T> Slab<T> {
    /// An empty slab.
    pub fn new() -> Slab<T> {
        Slab { places: Vec::new(), free_head: None, occupied: 0 }
    }

    /// An empty slab with room for `n` values.
    pub fn with_capacity(n: usize) -> Slab<T> {
        Slab { places: Vec::with_capacity(n), ..Slab::new() }
    }

    /// Stores `value`. The returned token finds it until it is removed. `u64::MAX` is never returned.
    ///
    /// # Panics
    /// At 2³² − 1 values at once.
    pub fn insert(&mut self, value: T) -> u64 {
        self.occupied += 1;
        match self.free_head {
            Some(index) => {
                let place = &mut self.places[index as usize];
                let Content::Vacant { next_free } = place.content else {
                    unreachable!("the free list holds vacant places only");
                };
                self.free_head = next_free;
                place.content = Content::Occupied(value);
                token(place.generation, index)
            }
            None => {
                let index = u32::try_from(self.places.len()).expect("fewer than 2^32 places");
                assert!(index < u32::MAX, "fewer than 2^32 - 1 places");
                self.places.push(Place { generation: 0, content: Content::Occupied(value) });
                token(0, index)
            }
        }
    }

    /// Returns the token that the next [`Slab::insert`] will return.
    pub fn next_token(&self) -> u64 {
        match self.free_head {
            Some(index) => token(self.places[index as usize].generation, index),
            None => token(0, self.places.len() as u32),
        }
    }

    /// Returns the value, or `None` if it was removed.
    pub fn get(&self, token: u64) -> Option<&T> {
        match self.places.get(token as u32 as usize) {
            Some(Place { generation, content: Content::Occupied(value) })
                if *generation == generation_of(token) =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// Returns the value, or `None` if it was removed.
    pub fn get_mut(&mut self, token: u64) -> Option<&mut T> {
        match self.places.get_mut(token as u32 as usize) {
            Some(Place { generation, content: Content::Occupied(value) })
                if *generation == generation_of(token) =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// Removes the value. Its token and all copies of the token are stale from now on.
    pub fn remove(&mut self, token: u64) -> Option<T> {
        self.get(token)?;
        let index = token as u32;
        let place = &mut self.places[index as usize];
        place.generation = place.generation.wrapping_add(1);
        let vacant = Content::Vacant { next_free: self.free_head };
        let Content::Occupied(value) = std::mem::replace(&mut place.content, vacant) else {
            unreachable!("checked above");
        };
        self.free_head = Some(index);
        self.occupied -= 1;
        Some(value)
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.occupied
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// Iterates over tokens and values, by place.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.places.iter().enumerate().filter_map(|(index, place)| match &place.content {
            Content::Occupied(value) => Some((token(place.generation, index as u32), value)),
            Content::Vacant { .. } => None,
        })
    }

    /// Iterates over tokens and values, by place.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut T)> {
        self.places.iter_mut().enumerate().filter_map(|(index, place)| match &mut place.content {
            Content::Occupied(value) => Some((token(place.generation, index as u32), value)),
            Content::Vacant { .. } => None,
        })
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab::new()
    }
}

fn token(generation: u32, index: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(index)
}

fn generation_of(token: u64) -> u32 {
    (token >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_stale_with_its_value() {
        let mut slab = Slab::new();
        let old = slab.insert("old");
        assert_eq!(slab.remove(old), Some("old"));
        let new = slab.insert("new");
        assert_eq!(old as u32, new as u32, "the place is used again");
        assert_eq!((slab.get(old), slab.get(new)), (None, Some(&"new")));
        assert_eq!(slab.remove(old), None);
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn the_next_token_is_foretold() {
        let mut slab = Slab::new();
        let tokens: Vec<u64> = (0..4)
            .map(|n| {
                let foretold = slab.next_token();
                assert_eq!(slab.insert(n), foretold);
                foretold
            })
            .collect();
        slab.remove(tokens[2]);
        assert_eq!(slab.next_token(), slab.insert(9));
        assert_eq!(slab.iter().map(|(_, &n)| n).collect::<Vec<_>>(), [0, 1, 9, 3]);
    }
}
