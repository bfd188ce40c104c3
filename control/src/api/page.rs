//! A page of the reference for each module: its messages, their fields, and the types they are made
//! of.

use std::fmt::Write as _;

use super::commands::type_of;
use super::schema::{Body, Declaration, FieldInfo, Head, MessageInfo, Preset};
use super::table::Service;

/// The page of a module; `messages` with CRC and what they lead to.
pub fn of(
    name: &str,
    version: &str,
    types: &[&'static Declaration],
    messages: &[(&'static MessageInfo, u32, Option<Service>)],
) -> String {
    let mut page = format!("# {name}\n");
    if version.is_empty() {
        page.push_str("\nTypes shared by several modules.\n");
    } else {
        let _ = write!(page, "\nMessages of the module `{name}`, version {version}.\n");
    }
    for (info, crc, service) in messages {
        message(info, *crc, service.as_ref(), &mut page);
    }
    if !types.is_empty() && !messages.is_empty() {
        page.push_str("\n## Types\n");
    }
    types.iter().for_each(|declaration| declared(declaration, &mut page));
    page
}

fn message(info: &MessageInfo, crc: u32, service: Option<&Service>, page: &mut String) {
    let _ = write!(page, "\n## {}\n\n", info.name);
    if !info.about.is_empty() {
        let _ = write!(page, "{}.\n\n", info.about.trim_end_matches('.'));
    }
    let _ = writeln!(page, "CRC `{crc:08x}`. {}", answer(service));
    let head: Vec<_> = info.head.fields().iter().map(|field| format!("`{}`", field.name)).collect();
    if info.head != Head::Bare {
        let _ = writeln!(page, "Begins with {}.", head.join(", "));
    }
    fields(info.fields, page);
}

/// The kinds of answers to a request.
fn answer(service: Option<&Service>) -> String {
    let Some(service) = service else { return String::new() };
    let reply = service.reply.unwrap_or_default();
    let events: Vec<_> = service.events.iter().map(|event| format!("`{}`", event.name)).collect();
    let answered = match (service.rows, service.is_stream) {
        (Some(rows), _) => format!("Answered by `{rows}` messages and a `{reply}`."),
        (None, true) => format!("Answered by `{reply}` messages."),
        (None, false) if reply.is_empty() => "Not answered.".to_owned(),
        (None, false) => format!("Answered by `{reply}`."),
    };
    match events.is_empty() {
        true => answered,
        false => format!("{answered} Registers for {}.", events.join(", ")),
    }
}

fn fields(fields: &[FieldInfo], page: &mut String) {
    if fields.is_empty() {
        return;
    }
    page.push_str("\n| field | type | default | meaning |\n|---|---|---|---|\n");
    for field in fields {
        let default = field.options.iter().find(|(name, _)| *name == "default");
        let default = match default.map(|(_, preset)| *preset) {
            Some(Preset::Word(word)) => word.to_owned(),
            Some(Preset::Number(number)) => number.to_string(),
            Some(Preset::Real(number)) => number.to_string(),
            Some(Preset::None) | None => String::new(),
        };
        let (name, ty, about) = (field.name, type_of(field), field.about.replace('|', "\\|"));
        let _ = writeln!(page, "| `{name}` | `{ty}` | {default} | {about} |");
    }
}

fn declared(declaration: &Declaration, page: &mut String) {
    let _ = write!(page, "\n### {}\n", declaration.name);
    if !declaration.about.is_empty() {
        let _ = write!(page, "\n{}.\n", declaration.about.trim_end_matches('.'));
    }
    match declaration.body {
        Body::Record(list) => fields(list, page),
        Body::Union(list) => {
            page.push_str("\nOne of these, from the same byte on:\n");
            fields(list, page);
        }
        Body::Alias(ty, count) => {
            let field = FieldInfo { count, ..FieldInfo::one("", ty, "") };
            let _ = write!(page, "\nAnother name of `{}`.\n", type_of(&field));
        }
        Body::Numbers { base, is_flags, values } => {
            let kind = if is_flags { "Bits" } else { "Numbers" };
            let base = type_of(&FieldInfo::one("", base, ""));
            let _ = write!(page, "\n{kind} of `{base}`.\n\n| name | value |\n|---|---|\n");
            for value in values {
                let _ = writeln!(page, "| `{}` | {} |", value.name, value.value);
            }
        }
    }
}
