//! Holds back output that does not fit on one page.

/// What an interactive client sees between pages.
const MORE: &str = "-- more -- ";
/// The same, wiped out.
const WIPE: &str = "\r           \r";

/// Lets as many lines through as the window has, then waits for a key.
#[derive(Default)]
pub(super) struct Pager {
    /// Lines on a page; 0 lets everything through.
    page: usize,
    /// Lines that still fit.
    room: usize,
    held: String,
    asked: bool,
}

impl Pager {
    /// Sets the window's height in lines; 0 if unknown.
    pub fn set_height(&mut self, height: u16) {
        self.page = usize::from(height).saturating_sub(1);
    }

    /// A new command starts on a new page.
    pub fn restart(&mut self) {
        self.room = self.page;
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
        (WIPE.to_owned() + &self.release(), true)
    }

    fn release(&mut self) -> String {
        let mut end = 0;
        while self.room > 0 && end < self.held.len() {
            let line = self.held[end..].find('\n').map_or(self.held.len() - end, |at| at + 1);
            end += line;
            self.room -= 1;
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
        pager.set_height(3);
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
    fn an_unknown_height_holds_nothing() {
        let mut pager = Pager::default();
        pager.restart();
        assert_eq!(pager.text("1\n2\n"), "1\n2\n");
    }
}
