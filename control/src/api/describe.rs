//! `*.api.json`: the declarations as clients and generators read them.

use serde_json::{Map, Value, json};

use super::field::Field as _;
use super::registry::Api;
use super::schema::{Body, Count, Declaration, FieldInfo, MessageInfo, Options, Preset, Type};
use super::table::{Entry, Folder, Service, Table};
use super::types::Prefix;
use super::{crc, page};

/// A file of declarations.
#[derive(Clone, Debug)]
pub struct ApiFile {
    /// Path of the file, such as `core/ip.api.json`.
    pub path: String,
    /// Contents of the file.
    pub json: Value,
    /// The same for people, in Markdown.
    pub page: String,
}

impl ApiFile {
    /// The file's text: what is in a list or table stands on lines of its own.
    pub fn text(&self) -> String {
        let parts = self.json.as_object().into_iter().flatten();
        let lines = parts.map(|(key, value)| {
            let (open, close, items): (_, _, Vec<String>) = match value {
                Value::Array(items) if !items.is_empty() => {
                    ("[\n", "\n]", items.iter().map(Value::to_string).collect())
                }
                Value::Object(pairs) if !pairs.is_empty() => {
                    let pairs = pairs.iter().map(|(key, value)| format!("{}:{value}", json!(key)));
                    ("{\n", "\n}", pairs.collect())
                }
                other => ("", "", vec![other.to_string()]),
            };
            format!("{}:{open}{}{close}", json!(key), items.join(",\n"))
        });
        format!("{{\n{}\n}}\n", lines.collect::<Vec<_>>().join(",\n"))
    }
}

/// All files: one for each module, and one for each file of types that they use.
pub fn files<C: 'static>(api: &Api<C>) -> Vec<ApiFile> {
    let mut shared = Vec::new();
    // There are clients that do not start without the types of addresses.
    add_type(&Prefix::TYPE, &mut shared);
    let mut files = Vec::new();
    let api = api.table();
    for (number, module) in api.modules().iter().enumerate() {
        let entries: Vec<_> = api.entries_of(number).collect();
        if entries.is_empty() {
            continue; // its plugin is unloaded
        }
        let types = types_of(&entries);
        let stem = |declaration: &Declaration| stem(declaration.file).to_owned();
        for declaration in types.iter().filter(|d| !d.file.is_empty() && stem(d) != module.name) {
            let is_it = |known: &&'static Declaration| known.name == declaration.name;
            if !shared.iter().any(is_it) {
                shared.push(*declaration);
            }
        }
        let folder = match module.folder {
            Folder::Core => "core",
            Folder::Plugins => "plugins",
        };
        let path = format!("{folder}/{}.api.json", module.name);
        let messages: Vec<_> = entries.iter().map(|e| (e.info, e.crc, e.service)).collect();
        let json = file_json(module.name, module.version, &types, &messages);
        let page = page::of(module.name, module.version, &types, &messages);
        files.push(ApiFile { path, json, page });
    }
    let mut names: Vec<&str> = shared.iter().map(|d| stem(d.file)).collect();
    names.sort_unstable();
    names.dedup();
    let is_module = |name: &&str| api.modules().iter().any(|m| m.name == *name);
    for name in names.into_iter().filter(|name| !is_module(name)) {
        let own: Vec<_> = shared.iter().copied().filter(|d| stem(d.file) == name).collect();
        let types = closure(&own);
        let (json, page) = (file_json(name, "", &types, &[]), page::of(name, "", &types, &[]));
        let is_plugin = own.iter().any(|d| d.file.starts_with("plugins/"));
        let folder = if is_plugin { "plugins" } else { "core" };
        files.push(ApiFile { path: format!("{folder}/{name}.api.json"), json, page });
    }
    files
}

/// All modules but the one that connections are made of, as the text of one JSON array.
pub fn all<C: 'static>(api: &Api<C>) -> String {
    let is_told = |file: &ApiFile| file.json["module"] != super::memclnt::NAME;
    let files = files(api).into_iter().filter(is_told).map(|f| f.json);
    Value::Array(files.collect()).to_string()
}

/// The CRC in the name of a module's range.
pub(super) fn file_crc<C: 'static>(api: &Table<C>, module: usize) -> u32 {
    let entries: Vec<_> = api.entries_of(module).collect();
    let own = types_of(&entries);
    let name = api.modules()[module].name;
    let own = own.iter().filter(|d| d.file.is_empty() || stem(d.file) == name);
    let crc = crc::crc32("version", 0);
    let crc = own.fold(crc, |crc, d| crc::crc32(&crc::own_text(d), crc));
    entries.iter().fold(crc, |crc, e| crc::crc32(&crc::message_text(e.info), crc))
}

/// `ip_types` of `vnet/ip/ip_types.api`.
fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".api").unwrap_or(name)
}

type Described = (&'static MessageInfo, u32, Option<Service>);

fn file_json(
    name: &str,
    version: &str,
    types: &[&'static Declaration],
    messages: &[Described],
) -> Value {
    let (mut records, mut unions) = (Vec::new(), Vec::new());
    let (mut enums, mut flags, mut aliases) = (Vec::new(), Vec::new(), Map::new());
    let mut imports: Vec<&str> = Vec::new();
    let mut crc = if version.is_empty() { 0 } else { crc::crc32("version", 0) };
    for declaration in types {
        crc = crc::crc32(&crc::own_text(declaration), crc);
        if !declaration.file.is_empty()
            && stem(declaration.file) != name
            && !imports.contains(&declaration.file)
        {
            imports.push(declaration.file);
        }
        match declaration.body {
            Body::Record(fields) => records.push(record_json(declaration.name, fields)),
            Body::Union(fields) => unions.push(record_json(declaration.name, fields)),
            Body::Numbers { is_flags: false, .. } => enums.push(numbers_json(declaration)),
            Body::Numbers { .. } => flags.push(numbers_json(declaration)),
            Body::Alias(ty, count) => {
                aliases.insert(declaration.name.to_owned(), alias_json(&ty, count));
            }
        }
    }
    let crc = messages.iter().fold(crc, |crc, m| crc::crc32(&crc::message_text(m.0), crc));
    let services = messages.iter().filter_map(|(info, _, service)| {
        service.as_ref().map(|s| (info.name.to_owned(), service_json(s)))
    });
    let options = if version.is_empty() { json!({}) } else { json!({ "version": version }) };
    json!({
        "module": name,
        "types": records,
        "messages": messages.iter().map(|(m, crc, _)| message_json(m, *crc)).collect::<Vec<_>>(),
        "unions": unions,
        "enums": enums,
        "enumflags": flags,
        "services": services.collect::<Map<_, _>>(),
        "options": options,
        "aliases": aliases,
        "vl_api_version": format!("{crc:#x}"),
        "imports": imports,
        "counters": [],
        "paths": [],
    })
}

/// All types that messages are made of, each after those it is made of.
fn types_of<C>(entries: &[&Entry<C>]) -> Vec<&'static Declaration> {
    let mut types = Vec::new();
    for field in entries.iter().flat_map(|e| e.info.fields) {
        add_type(&field.ty, &mut types);
    }
    types
}

fn closure(own: &[&'static Declaration]) -> Vec<&'static Declaration> {
    let mut types = Vec::new();
    own.iter().for_each(|d| add_type(&Type::Named(d), &mut types));
    types
}

fn add_type(ty: &Type, types: &mut Vec<&'static Declaration>) {
    let Type::Named(declaration) = *ty else { return };
    if types.iter().any(|known| known.name == declaration.name) {
        return;
    }
    match &declaration.body {
        Body::Record(fields) | Body::Union(fields) => {
            fields.iter().for_each(|field| add_type(&field.ty, types));
        }
        Body::Alias(ty, _) => add_type(ty, types),
        Body::Numbers { .. } => {}
    }
    types.push(declaration);
}

fn message_json(info: &MessageInfo, crc: u32) -> Value {
    let mut parts = vec![json!(info.name), json!(["u16", "_vl_msg_id"])];
    parts.extend(info.all_fields().map(field_json));
    let mut last = json!({ "crc": format!("{crc:#010x}"), "options": options_json(info.options) });
    if !info.about.is_empty() {
        last["comment"] = json!(info.about);
    }
    parts.push(last);
    Value::Array(parts)
}

fn record_json(name: &str, fields: &[FieldInfo]) -> Value {
    let fields = fields.iter().map(field_json);
    Value::Array([json!(name)].into_iter().chain(fields).collect())
}

fn field_json(field: &FieldInfo) -> Value {
    let mut parts = vec![json!(crc::type_name(&field.ty)), json!(field.name)];
    match field.count {
        Count::One => {}
        Count::Fixed(count) => parts.push(json!(count)),
        Count::Counted(by) => parts.extend([json!(0), json!(by)]),
        Count::Text => parts.push(json!(0)),
    }
    if !field.options.is_empty() {
        parts.push(options_json(field.options));
    }
    Value::Array(parts)
}

fn options_json(options: Options) -> Value {
    let value = |preset: &Preset| match preset {
        Preset::None => Value::Null,
        // As the original's files have it: the one is a word, the other is not.
        Preset::Word("false") => json!(false),
        Preset::Word(word) => json!(word),
        Preset::Number(number) => json!(number),
        Preset::Real(number) => json!(number),
    };
    let options = options.iter().map(|(name, preset)| ((*name).to_owned(), value(preset)));
    Value::Object(options.collect())
}

fn numbers_json(declaration: &Declaration) -> Value {
    let mut parts = vec![json!(declaration.name)];
    if let Body::Numbers { base, values, .. } = declaration.body {
        parts.extend(values.iter().map(|v| json!([v.name, v.value])));
        parts.push(json!({ "enumtype": crc::type_name(&base) }));
    }
    Value::Array(parts)
}

fn alias_json(ty: &Type, count: Count) -> Value {
    match count {
        Count::Fixed(count) => json!({ "type": crc::type_name(ty), "length": count }),
        _ => json!({ "type": crc::type_name(ty) }),
    }
}

fn service_json(service: &Service) -> Value {
    let mut json = json!({ "reply": service.reply.unwrap_or("null") });
    if service.is_stream {
        json["stream"] = json!(true);
    }
    if let Some(rows) = service.rows {
        json["stream_msg"] = json!(rows);
    }
    if !service.events.is_empty() {
        json["events"] = service.events.iter().map(|e| e.name).collect();
    }
    json
}
