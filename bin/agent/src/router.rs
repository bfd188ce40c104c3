//! The router, by its API over HTTP.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Ask, Peer};
use crate::machine::{Event, Order, Running, Trouble};

/// Time of a question, and of a change.
const LOOK: Duration = Duration::from_secs(60);
const CHANGE: Duration = Duration::from_secs(240);
/// Bytes of a configuration at most.
const MOST: usize = 256 << 20;
/// Attempts to read a configuration that changes meanwhile.
const TRIES: u32 = 5;

/// A router.
pub struct Router(pub Peer);

impl Router {
    async fn ask(
        &self,
        path: &str,
        body: Option<Value>,
        time: Duration,
    ) -> Result<(u16, Value), Trouble> {
        let body = body.map(|body| body.to_string().into_bytes());
        let answer = self.0.ask(Ask { path, body, token: None }, MOST, time).await;
        let gone = |why: String| Trouble::Gone(format!("{}: {why}", self.0.name()));
        let (status, bytes) = answer.map_err(gone)?;
        let value = serde_json::from_slice(&bytes);
        value.map(|value| (status, value)).map_err(|_| gone("its reply is not JSON".to_owned()))
    }

    /// The JSON of an answer that is one.
    async fn get(&self, path: &str, body: Option<Value>) -> Result<Value, Trouble> {
        match self.ask(path, body, LOOK).await? {
            (200, value) => Ok(value),
            (status, value) => Err(Trouble::Gone(words(status, &value))),
        }
    }

    async fn hash(&self) -> Result<(String, String), Trouble> {
        let value = self.get("/api/v1/configuration/hash", None).await?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let missing = || Trouble::Gone("its reply has no hash".to_owned());
        Ok((text("instance").ok_or_else(missing)?, text("hash").ok_or_else(missing)?))
    }

    async fn read(&self, known: Option<(String, String)>) -> Result<Event, Trouble> {
        let mut now = self.hash().await?;
        if known.as_ref() == Some(&now) {
            return Ok(Event::Same);
        }
        for _ in 0..TRIES {
            let command = json!({ "command": "show configuration secrets", "format": "text" });
            let value = self.get("/api/v1/cli", Some(command)).await?;
            let text = value["output"].as_str().unwrap_or_default();
            let then = self.hash().await?;
            if now == then {
                let lines = text.lines().map(str::to_owned).collect();
                let (instance, hash) = now;
                return Ok(Event::Running(Running { lines, hash, instance }));
            }
            now = then;
        }
        Err(Trouble::Changed)
    }

    async fn patch(
        &self,
        text: &str,
        base: &str,
        confirm: Option<(f64, String)>,
    ) -> Result<Event, Trouble> {
        let (confirm, id) = confirm.unzip();
        let body = json!({ "text": text, "if": base, "confirm": confirm, "id": id });
        match self.ask("/api/v1/configuration/patch", Some(body), CHANGE).await? {
            (200, value) => Ok(Event::Patched(value["hash"].as_str().map(str::to_owned))),
            (409, _) => Err(Trouble::Changed),
            (422, value) => {
                let why = value["error"].as_str().unwrap_or_default();
                Err(refused(why))
            }
            (status, value) => Err(Trouble::Gone(words(status, &value))),
        }
    }

    async fn confirm(&self, id: &str) -> Result<Event, Trouble> {
        let body = json!({ "id": id });
        match self.ask("/api/v1/configuration/commit", Some(body), LOOK).await? {
            (200, _) => Ok(Event::Confirmed),
            (422, value) => Err(refused(value["error"].as_str().unwrap_or_default())),
            (status, value) => Err(Trouble::Gone(words(status, &value))),
        }
    }

    /// Runs an order; returns its outcome.
    pub async fn carry_out(&self, order: Order) -> Event {
        let done = match order {
            Order::Read(known) => self.read(known).await,
            Order::Patch { text, base, confirm } => self.patch(&text, &base, confirm).await,
            Order::Confirm(id) => self.confirm(&id).await,
            Order::Keep(_) => Ok(Event::Tick),
        };
        done.unwrap_or_else(Event::Trouble)
    }
}

/// A refusal, with the number of the line in front of it.
fn refused(why: &str) -> Trouble {
    let why = why.strip_prefix("configure patch: ").unwrap_or(why);
    let words = why.strip_prefix("line:").and_then(|rest| rest.split_once(": "));
    match words.and_then(|(line, why)| Some((line.parse().ok()?, why))) {
        Some((line, why)) => Trouble::Refused(Some(line), why.to_owned()),
        None => Trouble::Refused(None, why.strip_prefix("line: ").unwrap_or(why).to_owned()),
    }
}

fn words(status: u16, value: &Value) -> String {
    let why = value["error"].as_str().unwrap_or("no reason is given");
    format!("status {status}: {why}")
}
