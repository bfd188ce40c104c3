//! Messages as structs of C with tables of where their fields are, for `clients/c`.

use std::fmt::Write as _;

use crate::model::{Body, Count, Field, Model, Type};

/// Element of a field of C.
struct Element {
    /// Its type in a declaration.
    ty: String,
    /// Bytes of a number; 0 for a record.
    size: usize,
    is_real: bool,
    record: Option<String>,
    /// Number that make one element; more than one for addresses.
    count: usize,
}

pub fn write(model: &Model) -> String {
    let mut heads = String::from(
        "/* Written by `bindings c`: change the declarations, not this. */\n\
         #ifndef FERROVIA_MESSAGES_H\n#define FERROVIA_MESSAGES_H\n\
         #include \"ferrovia.h\"\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
    );
    let mut bodies = String::from("#ifdef FERROVIA_MESSAGES_BODY\n");
    for declaration in &model.types {
        match &declaration.body {
            Body::Numbers(_, _, values) => {
                for (name, number) in values {
                    writeln!(heads, "#define FV_{name} {number}").expect("it is a string");
                }
            }
            Body::Record(fields) => {
                add(model, &declaration.name, "NULL", 0, fields, &mut heads, &mut bodies);
            }
            Body::Alias(..) | Body::Union(_) => {}
        }
    }
    for message in &model.messages {
        let (head, name) = (message.head(), format!("\"{}_{}\"", message.name, message.crc));
        let fields = &message.fields[head..];
        add(model, &message.name, &name, head, fields, &mut heads, &mut bodies);
    }
    format!("{heads}\n{bodies}#endif\n#ifdef __cplusplus\n}}\n#endif\n#endif\n")
}

fn add(
    model: &Model,
    name: &str,
    shown: &str,
    head: usize,
    fields: &[Field],
    heads: &mut String,
    bodies: &mut String,
) {
    let (mut members, mut table) = (String::new(), String::new());
    for field in fields {
        let element = element(model, &field.ty);
        let own = &field.name;
        let (declared, count, is_pointer, counter) = match &field.count {
            Count::Text => (format!("char *{own}"), 0, 2, None),
            Count::Counted(counter) => {
                (format!("{} *{own}", element.ty), element.count, 1, Some(counter))
            }
            Count::Fixed(count) if field.ty == Type::String => {
                (format!("char {own}[{count}]"), *count, 0, None)
            }
            Count::Fixed(count) => {
                let count = count * element.count;
                (format!("{} {own}[{count}]", element.ty), count, 0, None)
            }
            Count::One if element.count > 1 => {
                (format!("{} {own}[{}]", element.ty, element.count), element.count, 0, None)
            }
            Count::One => (format!("{} {own}", element.ty), 1, 0, None),
        };
        let record = element.record.map_or("NULL".to_owned(), |r| format!("&fv_{r}_type"));
        let struct_ = format!("struct fv_{name}");
        let (at, wide) = counter.map_or(("0".into(), "0".into()), |c| {
            (format!("offsetof({struct_}, {c})"), format!("sizeof((({struct_} *)0)->{c})"))
        });
        writeln!(members, "    {declared};").expect("it is a string");
        writeln!(
            table,
            "    {{ {}, {}, {is_pointer}, {count}, offsetof({struct_}, {own}), {record}, {at}, \
             {wide} }},",
            element.size,
            u8::from(element.is_real)
        )
        .expect("it is a string");
    }
    if fields.is_empty() {
        members.push_str("    char nothing;\n");
        table.push_str("    { 0, 0, 0, 0, 0, NULL, 0, 0 },\n");
    }
    let has_retval = fields.iter().any(|f| f.name == "retval");
    let retval = has_retval.then(|| format!("1 + offsetof(struct fv_{name}, retval)"));
    let retval = retval.unwrap_or_else(|| "0".to_owned());
    write!(
        heads,
        "struct fv_{name} {{\n{members}}};\nextern const struct fv_type fv_{name}_type;\n\n"
    )
    .expect("it is a string");
    write!(
        bodies,
        "static const struct fv_field fv_{name}_fields[] = {{\n{table}}};\n\
         const struct fv_type fv_{name}_type = {{ {shown}, sizeof(struct fv_{name}), {head}, \
         fv_{name}_fields, {}, {retval} }};\n\n",
        fields.len()
    )
    .expect("it is a string");
}

fn element(model: &Model, ty: &Type) -> Element {
    let number = |ty: &str, size| Element {
        ty: ty.to_owned(),
        size,
        is_real: ty == "double",
        record: None,
        count: 1,
    };
    let plain = |name: &str| match name {
        "f64" => number("double", 8),
        "bool" | "string" => number("uint8_t", 1),
        other => {
            let bits: usize = other[1..].parse().unwrap_or(8);
            let sign = if other.starts_with('u') { "u" } else { "" };
            number(&format!("{sign}int{bits}_t"), bits / 8)
        }
    };
    let name = match ty {
        Type::String => return number("char", 1),
        Type::Plain(name) => return plain(name),
        Type::Named(name) => name,
    };
    match model.types.iter().find(|d| d.name == *name).map(|d| &d.body) {
        Some(Body::Numbers(base, ..)) => plain(base),
        Some(Body::Alias(ty, Count::Fixed(count))) => {
            let element = element(model, ty);
            Element { count: element.count * count, ..element }
        }
        Some(Body::Alias(ty, _)) => element(model, ty),
        Some(Body::Union(fields)) => {
            let size = fields.iter().map(|f| model.size(f)).max().unwrap_or(0);
            Element { count: size, ..number("uint8_t", 1) }
        }
        _ => Element {
            ty: format!("struct fv_{name}"),
            size: 0,
            is_real: false,
            record: Some(name.clone()),
            count: 1,
        },
    }
}
