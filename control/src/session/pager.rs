//! Holds back output that does not fit on one page.

/// Prompt between two pages.
const MORE: &str = "-- more -- ";
/// The same, wiped out.
const WIPE: &str = "\r           \r";

/// Lets as many lines through as the window has, then waits for a key.
#[derive(Default)]
pub(super) struct Pager {
    /// Rows per page; 0 disables paging.
    page: usize,
    /// Characters in a row; 0 if unknown.
    columns: usize,
    /// Rows that still fit.
    room: usize,
    /// Nothing was shown since the last key.
    fresh: bool,
    held: String,
    asked: bool,
}

impl Pager {
    /// Sets the window's size in characters; 0 if unknown.
    pub fn set_window(&mut self, columns: u16, lines: u16) {
        self.columns = columns.into();
        self.page = usize::from(lines).saturating_sub(1);
    }

    /// Lets all output of this command through.
    pub fn let_all_through(&mut self) {
        self.room = usize::MAX;
    }

    /// A new command starts on a new page.
    pub fn restart(&mut self) {
        self.room = self.page;
        self.fresh = true;
        self.held.clear();
        self.asked = false;
    }

    /// True while output waits for a key.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes output and returns what may be shown now.
    pub fn text(&mut self, text: &str) -> String {
        if self.page == 0 {
            return text.to_owned();
        }
        self.held.push_str(text);
        self.release()
    }

    /// Takes a key pressed at the end of a page and returns what may be shown now; the second
    /// value is false when the reader has seen enough.
    pub fn key(&mut self, key: u8) -> (String, bool) {
        match key {
            b'q' | b'Q' | 3 => {
                self.restart();
                return (WIPE.to_owned(), false);
            }
            b'\r' | b'\n' => self.room = 1,
            b' ' => self.room = self.page,
            _ => return (String::new(), true),
        }
        self.asked = false;
        self.fresh = true;
        (WIPE.to_owned() + &self.release(), true)
    }

    fn release(&mut self) -> String {
        let mut end = 0;
        while self.room > 0 && end < self.held.len() {
            let rest = &self.held[end..];
            let line = &rest[..rest.find('\n').map_or(rest.len(), |at| at + 1)];
            let rows = match self.columns {
                0 => 1,
                columns => line.trim_end().chars().count().div_ceil(columns).max(1),
            };
            // After a key one line is shown at least, however long.
            if rows > self.room && !std::mem::take(&mut self.fresh) {
                break;
            }
            self.fresh = false;
            end += line.len();
            self.room = self.room.saturating_sub(rows);
        }
        let mut shown: String = self.held.drain(..end).collect();
        if self.holds() && !self.asked {
            self.asked = true;
            shown.push_str(MORE);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_at_a_time() {
        let mut pager = Pager::default();
        pager.set_window(10, 3);
        pager.restart();
        assert_eq!(pager.text("1\n2\n3\n4\n5\n"), "1\n2\n-- more -- ");
        assert_eq!(pager.key(b'x'), (String::new(), true));
        assert_eq!(pager.key(b'\r'), (format!("{WIPE}3\n{MORE}"), true));
        assert_eq!(pager.text("6\n"), "");
        assert_eq!(pager.key(b' '), (format!("{WIPE}4\n5\n{MORE}"), true));
        assert_eq!(pager.key(b'q'), (WIPE.to_owned(), false));
        assert!(!pager.holds());
    }

    #[test]
    fn long_lines_count_as_often_as_they_wrap() {
        let mut pager = Pager::default();
        pager.set_window(4, 4);
        pager.restart();
        assert_eq!(pager.text("1\n123456789\n3\n4\n"), "1\n-- more -- ");
        assert_eq!(pager.key(b' '), (format!("{WIPE}123456789\n{MORE}"), true));
        assert_eq!(pager.key(b' '), (format!("{WIPE}3\n4\n"), true));
    }

    #[test]
    fn an_unknown_height_holds_nothing() {
        let mut pager = Pager::default();
        pager.restart();
        assert_eq!(pager.text("1\n2\n"), "1\n2\n");
    }
}
