//! Arguments of commands that put interfaces on the inside and the outside.

use control::cli::{ArgInfo, Args, Arguments, Error, Kind, Line};

use super::InterfaceIndex;
use crate::Router;

/// Interfaces and the sides they are on, in any order and number: `in INTERFACE out INTERFACE`, or
/// `inside` and `outside` where `WHOLE`.
#[derive(Debug, PartialEq)]
pub struct Sides<const WHOLE: bool = false>(pub Vec<(InterfaceIndex, bool)>);

impl<const WHOLE: bool> Sides<WHOLE> {
    const WORDS: [&'static [&'static str]; 2] =
        if WHOLE { [&["inside"], &["outside"]] } else { [&["in"], &["out"]] };

    const fn side(keywords: &'static [&'static str], help: &'static str) -> ArgInfo {
        let kind = Kind::Repeated;
        ArgInfo {
            name: "interface",
            keywords,
            help,
            kind,
            values: "interface",
            range: "",
            is_secret: false,
        }
    }

    /// Calls `set` with each interface, whether it is inside,
    /// and `is_add`; takes those before a refused one back.
    ///
    /// # Errors
    /// The refusal; nothing has changed then.
    pub fn apply<E>(
        &self,
        router: &mut Router,
        is_add: bool,
        set: impl Fn(&mut Router, InterfaceIndex, bool, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        for (n, &(interface, is_inside)) in self.0.iter().enumerate() {
            if let Err(why) = set(router, interface, is_inside, is_add) {
                for &(interface, is_inside) in &self.0[..n] {
                    set(router, interface, is_inside, !is_add)?;
                }
                return Err(why);
            }
        }
        Ok(())
    }
}

impl<const WHOLE: bool> Arguments for Sides<WHOLE> {
    const ARGS: &'static [ArgInfo] = &[
        Self::side(Self::WORDS[0], "interface to the inside"),
        Self::side(Self::WORDS[1], "interface to the outside"),
    ];
    type Read = Vec<(InterfaceIndex, bool)>;

    fn take(read: &mut Self::Read, args: &mut Args<'_>) -> Result<bool, Error> {
        for (words, is_inside) in Self::WORDS.iter().zip([true, false]) {
            if args.keyword(words[0]) {
                read.push((args.value(words[0])?, is_inside));
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn finish(read: Self::Read) -> Result<Self, Error> {
        if read.is_empty() {
            let [inside, outside] = Self::WORDS;
            return Err(format!("expected {} or {} and an interface", inside[0], outside[0]).into());
        }
        Ok(Self(read))
    }

    fn print(&self, line: &mut Line<'_>) {
        for (interface, is_inside) in &self.0 {
            line.word(Self::WORDS[usize::from(!is_inside)][0]).value(interface);
        }
    }
}
