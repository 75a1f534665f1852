//! Why there is no index, in a sentence; and room for so many of them.
//!
//! In: sentences with paths. Out: the same, or the reason alone once the room is full: a
//! profile may name thousands of files that are not there.

use std::borrow::Cow;

use super::Reason;

/// A sentence that says why there is no index.
pub(crate) type Why = Cow<'static, str>;

/// Bytes of all sentences that are made up for one file each.
const ROOM: usize = 64 << 10;

/// What is left of the room.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(ROOM)
    }
}

impl Room {
    /// The sentence if it fits, else the reason's own words, which take none.
    pub(crate) fn keep(&mut self, why: Why, reason: Reason) -> Why {
        let Cow::Owned(text) = why else { return why };
        match self.0.checked_sub(text.len()) {
            Some(left) => {
                self.0 = left;
                // What it has grown to is not what it holds.
                text.into_boxed_str().into_string().into()
            }
            None => reason.text().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_fill_the_room_and_the_rest_have_the_reason() {
        let mut room = Room(10);
        let mut keep = |why: Why| room.keep(why, Reason::NoIndex);
        assert_eq!(keep("123456".to_owned().into()), "123456");
        assert_eq!(keep("12345".to_owned().into()), "no index");
        assert_eq!(keep("1234".to_owned().into()), "1234");
        assert_eq!(keep("5".to_owned().into()), "no index");
        // What is the same for all takes no room.
        assert_eq!(keep("it is memory without code".into()), "it is memory without code");
    }
}
