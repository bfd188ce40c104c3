//! Requests of commands to the session itself.

use super::super::terminal;
use super::{Dialog, Terminal};
use crate::cli::{Output, SessionRequest};

impl<C: 'static> Dialog<C> {
    pub(super) fn grant(&mut self, session_request: SessionRequest) -> Output {
        match session_request {
            SessionRequest::History => terminal::history(&self.editor),
            SessionRequest::Terminal => self.terminal.show(&self.editor),
            SessionRequest::KeepHistory(lines) => {
                self.editor.keep(lines);
                Output::none()
            }
            SessionRequest::Ansi(is_on) => {
                self.editor.set_ansi(is_on);
                Output::none()
            }
            SessionRequest::Pager(is_on) => {
                self.terminal.pages = is_on;
                self.set_page();
                Output::none()
            }
        }
    }

    /// Tells the pager what fits on a page.
    pub(super) fn set_page(&mut self) {
        let Terminal { columns, lines, pages, .. } = self.terminal;
        self.pager.set_window(columns, if pages { lines } else { 0 });
    }
}
