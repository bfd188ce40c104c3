//! Answers of commands as those of requests.

use control::configuration::CHANGED;
use hyper::StatusCode;

use crate::body::{self, Answer};
use crate::work::{self, Unanswered};

/// The status of a command.
pub fn status_of(is_refused: bool) -> StatusCode {
    if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }
}

/// Whether an error says that words of a command's path are not known, not those behind it.
fn is_absent(path: &str, why: &str) -> bool {
    let Some((_, unknown)) = why.split_once("unknown input `") else { return false };
    let begins = path.split(' ').scan(path, |rest, word| {
        let whole = *rest;
        *rest = rest.get(word.len() + 1..).unwrap_or_default();
        Some(whole)
    });
    begins.into_iter().any(|rest| unknown.starts_with(rest))
}

/// The answer of a command of ours. `absent` is the path of a command that may not be there.
pub fn outcome(answer: Result<work::Answer, Option<Unanswered>>, absent: Option<&str>) -> Answer {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    match answer {
        Ok(work::Answer { output, error: None }) => body::json(StatusCode::OK, output),
        Ok(work::Answer { error: Some((code, why)), .. }) => {
            match absent.filter(|path| is_absent(path, &why)) {
                Some(_) => {
                    let text = "this router has no such command";
                    body::error(StatusCode::NOT_IMPLEMENTED, text)
                }
                None => {
                    let status = match why.contains(CHANGED) {
                        true => StatusCode::CONFLICT,
                        false => StatusCode::UNPROCESSABLE_ENTITY,
                    };
                    let text = serde_json::json!({ "error": why, "code": code });
                    body::json(status, text.to_string())
                }
            }
        }
        Err(Some(Unanswered::Busy)) => body::error(unavailable, "the router has too much to do"),
        Err(Some(Unanswered::Gone)) => body::error(unavailable, "the command was given up"),
        Err(None) => body::error(StatusCode::GATEWAY_TIMEOUT, "the command takes too long"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_words_of_a_command_are_not_taken_for_its_absence() {
        assert!(is_absent("explain", "unknown input `explain loop0 UDP 8.8.8.8'"));
        assert!(!is_absent("explain", "explain: unknown input `UDP 8.8.8.8'"));
        assert!(is_absent("show drops", "show: unknown input `drops'"));
        assert!(is_absent(
            "show nat44 ei sessions detail",
            "show nat44: unknown input `ei sessions detail'"
        ));
        assert!(!is_absent("show drops", "it went wrong"));
    }
}
