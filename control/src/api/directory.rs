//! The directory of messages: names, CRCs and layouts, without the functions that answer them.

use std::collections::HashMap;

use super::schema::MessageInfo;

/// All messages and modules with their numbers.
#[derive(Debug, Default)]
pub struct Directory {
    /// Number, declaration and CRC, by number.
    pub messages: Vec<(u16, &'static MessageInfo, u32)>,
    /// Name with CRC, first and last number of each module that has a range.
    pub ranges: Vec<(String, u16, u16)>,
    by_name: HashMap<&'static str, usize>,
}

impl Directory {
    /// A directory of these messages, which are sorted by number, and ranges.
    pub fn new(
        messages: Vec<(u16, &'static MessageInfo, u32)>,
        ranges: Vec<(String, u16, u16)>,
    ) -> Self {
        let by_name = messages.iter().enumerate().map(|(at, m)| (m.1.name, at)).collect();
        Self { messages, ranges, by_name }
    }

    /// The message of this name.
    pub fn find(&self, name: &str) -> Option<(u16, &'static MessageInfo, u32)> {
        self.by_name.get(name).map(|at| self.messages[*at])
    }

    /// The message of this number.
    pub fn at(&self, id: u16) -> Option<(u16, &'static MessageInfo, u32)> {
        let at = self.messages.binary_search_by_key(&id, |m| m.0).ok()?;
        Some(self.messages[at])
    }

    /// Number and name of all messages as clients ask for them: name, `_`, CRC.
    pub fn table(&self) -> Vec<(u16, String)> {
        let name =
            |(id, info, crc): &(u16, &MessageInfo, u32)| (*id, format!("{}_{crc:08x}", info.name));
        self.messages.iter().map(name).collect()
    }
}
