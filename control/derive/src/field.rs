//! One field of a command: how it is written, read and described.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{
    Attribute, Error, Expr, ExprLit, GenericArgument, Ident, Lit, LitStr, Meta, PathArguments, Type,
};

/// Number of values of a field, from its type.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Flag,
    Required,
    Optional,
    Repeated,
}

/// Place of a field on the line.
#[derive(PartialEq)]
enum Place {
    Keywords(Vec<String>),
    Position,
    Rest,
    /// Its type's own arguments.
    Flat,
}

pub struct Field {
    ident: Ident,
    /// Type of one value: `T` of `T`, `Option<T>`, `Vec<T>`.
    value: Type,
    shape: Shape,
    place: Place,
    help: String,
    values: TokenStream,
    /// Whether its words are known wherever they stand.
    has_words: bool,
    /// Words that take a flag back.
    opposites: Vec<String>,
    /// Value when it is left out, which is not printed then.
    default: Option<TokenStream>,
}

impl Field {
    pub fn new(field: &syn::Field) -> syn::Result<Self> {
        let ident = field.ident.clone().expect("fields are named here");
        let help = doc(&field.attrs);
        let place = place(field, &ident)?;
        if help.is_empty() && place != Place::Flat {
            return Err(Error::new_spanned(field, "needs a doc comment: it is the help text"));
        }
        let (mut shape, value) = shape(&field.ty);
        let default = default(&field.attrs, &field.ty)?;
        if default.is_some() {
            shape = Shape::Optional;
        }
        if shape == Shape::Flag && place == Place::Position {
            return Err(Error::new_spanned(field, "a flag has no position"));
        }
        let mut values = strings(&field.attrs, "values")?.into_iter().next().unwrap_or_default();
        if values.is_empty() && type_name(&value).is_some_and(|name| name == "PathBuf") {
            values.push_str("file");
        }
        let has_words = field.attrs.iter().any(|a| a.path().is_ident("words"));
        let values = match has_words {
            true => quote!(<#value as ::control::cli::Words>::VALUES),
            false => quote!(#values),
        };
        let opposites = strings(&field.attrs, "opposite")?;
        if !opposites.is_empty() && shape != Shape::Flag {
            return Err(Error::new_spanned(field, "only a flag has an opposite"));
        }
        Ok(Self { ident, value, shape, place, help, values, has_words, opposites, default })
    }

    pub fn is_flat(&self) -> bool {
        self.place == Place::Flat
    }

    /// The type of what is known of the field while the line is read.
    pub fn read_type(&self) -> TokenStream {
        let value = &self.value;
        match (&self.place, self.shape) {
            (Place::Flat, _) => quote!(<#value as ::control::cli::Arguments>::Read),
            (_, Shape::Flag) => quote!(bool),
            (_, Shape::Repeated) => quote!(::std::vec::Vec<#value>),
            _ => quote!(::core::option::Option<#value>),
        }
    }

    /// Name of the variable that holds it.
    pub fn variable(&self) -> Ident {
        self.slot()
    }

    pub fn has_keyword(&self) -> bool {
        matches!(self.place, Place::Keywords(_))
    }

    /// Whether it is a position of words that are known wherever they stand.
    pub fn is_known_by_word(&self) -> bool {
        self.has_words && self.place == Place::Position && self.shape != Shape::Repeated
    }

    fn name(&self) -> String {
        self.ident.unraw().to_string().trim_start_matches('_').replace('_', "-")
    }

    /// Name of the variable that holds the field while the line is read.
    fn slot(&self) -> Ident {
        format_ident!("slot_{}", self.ident.unraw().to_string().trim_start_matches('_'))
    }

    /// The `ArgInfo` of the field, and that of the words that take a flag back.
    pub fn info(&self) -> TokenStream {
        let (name, help, values) = (self.name(), &self.help, &self.values);
        let (range, value) = (range(&self.value), &self.value);
        // The type of a flag, or of what is left of a line, need be no value.
        let is_secret = match (&self.place, self.shape) {
            (Place::Rest | Place::Flat, _) | (_, Shape::Flag) => quote!(false),
            _ => quote!(<#value as ::control::cli::Value>::IS_SECRET),
        };
        let keywords = match &self.place {
            Place::Keywords(words) => words.as_slice(),
            Place::Position | Place::Rest | Place::Flat => &[],
        };
        let kind = match (&self.place, self.shape) {
            (Place::Rest, _) => quote!(Rest),
            (_, Shape::Flag) => quote!(Flag),
            (_, Shape::Required) => quote!(Required),
            (_, Shape::Optional) => quote!(Optional),
            (_, Shape::Repeated) => quote!(Repeated),
        };
        let opposite = self.opposites.first().map(|name| {
            let (words, help) = (&self.opposites, format!("not {}", self.name()));
            quote! {
                , ::control::cli::ArgInfo {
                    name: #name,
                    keywords: &[#(#words),*],
                    help: #help,
                    kind: ::control::cli::Kind::Flag,
                    values: "",
                    range: "",
                    is_secret: false,
                }
            }
        });
        quote! {
            ::control::cli::ArgInfo {
                name: #name,
                keywords: &[#(#keywords),*],
                help: #help,
                kind: ::control::cli::Kind::#kind,
                values: #values,
                range: #range,
                is_secret: #is_secret,
            }
            #opposite
        }
    }

    /// The arguments of the field, one unless it is several.
    pub fn infos(&self) -> TokenStream {
        let (value, info) = (&self.value, self.info());
        match self.place {
            Place::Flat => quote!(<#value as ::control::cli::Arguments>::ARGS),
            _ => quote!(&[#info]),
        }
    }

    /// Declares the variable.
    pub fn start(&self) -> TokenStream {
        let (slot, ty) = (self.slot(), self.read_type());
        quote!(let #slot = &mut <#ty as ::core::default::Default>::default();)
    }

    /// Reads keyword and value, then goes on to the next word.
    pub fn read_keyword(&self) -> TokenStream {
        let Place::Keywords(words) = &self.place else { return TokenStream::new() };
        let (slot, name) = (self.slot(), self.name());
        let take = match self.shape {
            Shape::Flag => quote!(*#slot = true;),
            Shape::Repeated => quote!(#slot.push(args.value(#name)?);),
            _ => quote!(*#slot = Some(args.value(#name)?);),
        };
        let opposites = &self.opposites;
        quote! {
            if #(args.keyword(#words))||* {
                #take
                return Ok(true);
            }
            #(if args.keyword(#opposites) {
                *#slot = false;
                return Ok(true);
            })*
        }
    }

    /// Reads the value where its word stands, then goes on to the next word.
    pub fn read_word(&self) -> TokenStream {
        let slot = self.slot();
        quote! {
            if let Some(value) = args.optional() {
                *#slot = Some(value);
                return Ok(true);
            }
        }
    }

    /// Whether any word is a value of it.
    fn is_anything(&self) -> bool {
        const ANYTHING: [&str; 5] = ["PathBuf", "Rest", "String", "Text", "Word"];
        type_name(&self.value).is_some_and(|name| ANYTHING.contains(&name.as_str()))
    }

    /// Reads the value at its position, then goes on to the next word. What refuses the word leaves
    /// it to later positions, and in `refused` why.
    pub fn read_position(&self) -> TokenStream {
        let (slot, name, value) = (self.slot(), self.name(), &self.value);
        let is_free = match self.is_anything() {
            true => quote!(#slot.is_none() && refused.is_none()),
            false => quote!(#slot.is_none()),
        };
        let take = quote! {
            match args.value(#name) {
                Ok(value) => {
                    *#slot = Some(value);
                    return Ok(true);
                }
                Err(why) => {
                    *args = start;
                    refused.get_or_insert(why);
                }
            }
        };
        match (&self.place, self.shape) {
            (Place::Flat, _) => quote! {
                match <#value as ::control::cli::Arguments>::take(#slot, args) {
                    Ok(false) => {}
                    Ok(true) => return Ok(true),
                    Err(why) => {
                        *args = start;
                        refused.get_or_insert(why);
                    }
                }
            },
            (Place::Rest, _) => quote! {
                if #slot.is_none() && refused.is_none() {
                    *#slot = Some(args.rest().into());
                    return Ok(true);
                }
            },
            (_, Shape::Required) => quote!(if #is_free { #take }),
            (_, Shape::Repeated) => quote! {
                if refused.is_none() && let Some(value) = args.optional() {
                    #slot.push(value);
                    return Ok(true);
                }
            },
            _ => quote! {
                if #is_free {
                    if <#value as ::control::cli::Value>::IS_NAME {
                        #take
                    } else {
                        *#slot = args.optional();
                        if #slot.is_some() {
                            return Ok(true);
                        }
                    }
                }
            },
        }
    }

    /// Writes the field as it is read.
    pub fn print(&self) -> TokenStream {
        let ident = &self.ident;
        let keyword = match &self.place {
            Place::Keywords(words) => words.first(),
            Place::Position | Place::Rest => None,
            Place::Flat => {
                return quote!(::control::cli::Arguments::print(&self.#ident, line););
            }
        };
        let word = keyword.map(|word| quote!(line.word(#word);));
        match self.shape {
            Shape::Flag => quote!(line.flag(#keyword, self.#ident);),
            Shape::Required => quote!(#word line.value(&self.#ident);),
            Shape::Optional if let Some(default) = &self.default => quote! {
                if self.#ident != #default {
                    #word
                    line.value(&self.#ident);
                }
            },
            Shape::Optional => quote! {
                if let Some(value) = &self.#ident {
                    #word
                    line.value(value);
                }
            },
            Shape::Repeated => quote! {
                for value in &self.#ident {
                    #word
                    line.value(value);
                }
            },
        }
    }

    /// The field in the struct expression.
    pub fn finish(&self) -> TokenStream {
        let (ident, slot, value) = (&self.ident, self.slot(), &self.value);
        let missing = format!("missing {}", self.name());
        let taken = quote!(::core::mem::take(#slot));
        match (&self.place, self.shape, &self.default) {
            (Place::Flat, ..) => quote! {
                #ident: <#value as ::control::cli::Arguments>::finish(#taken)?
            },
            (_, Shape::Required, _) => quote! {
                #ident: #taken.ok_or_else(|| ::control::cli::Error::new(#missing))?
            },
            (.., Some(default)) => quote!(#ident: #taken.unwrap_or_else(|| #default)),
            _ => quote!(#ident: #taken),
        }
    }
}

/// Value, when it is left out, of a field with `#[default]` or `#[default(EXPRESSION)]`.
fn default(attrs: &[Attribute], ty: &Type) -> syn::Result<Option<TokenStream>> {
    let attr = attrs.iter().find(|a| a.path().is_ident("default"));
    attr.map(|attr| match &attr.meta {
        Meta::Path(_) => Ok(quote!(<#ty as ::core::default::Default>::default())),
        _ => attr.parse_args::<Expr>().map(|value| quote!(#value)),
    })
    .transpose()
}

/// First paragraph of the doc comment on one line, without its full stop.
pub fn doc(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join(" ").trim_end_matches('.').to_owned()
}

fn place(field: &syn::Field, ident: &Ident) -> syn::Result<Place> {
    let has = |name: &str| field.attrs.iter().any(|a| a.path().is_ident(name));
    if has("rest") {
        return Ok(Place::Rest);
    }
    if has("positional") {
        return Ok(Place::Position);
    }
    if has("flatten") {
        return Ok(Place::Flat);
    }
    let mut words = strings(&field.attrs, "keyword")?;
    if words.is_empty() {
        words.push(ident.unraw().to_string().replace('_', "-"));
    }
    words.extend(strings(&field.attrs, "alias")?);
    Ok(Place::Keywords(words))
}

/// The strings of all `#[name("…")]`.
fn strings(attrs: &[Attribute], name: &str) -> syn::Result<Vec<String>> {
    let named = attrs.iter().filter(|a| a.path().is_ident(name));
    named.map(|a| a.parse_args::<LitStr>().map(|s| s.value())).collect()
}

/// Last name of a type's path.
fn type_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}

/// Range of a number of this type, in words.
fn range(ty: &Type) -> String {
    let highest = match type_name(ty).as_deref() {
        Some("u8") => u64::from(u8::MAX),
        Some("u16") => u64::from(u16::MAX),
        Some("u32") => u64::from(u32::MAX),
        Some("u64" | "usize") => u64::MAX,
        _ => return String::new(),
    };
    format!("0-{highest}")
}

fn shape(ty: &Type) -> (Shape, Type) {
    if let Type::Path(path) = ty
        && let Some(last) = path.path.segments.last()
    {
        if last.ident == "bool" {
            return (Shape::Flag, ty.clone());
        }
        if let PathArguments::AngleBracketed(inner) = &last.arguments
            && let Some(GenericArgument::Type(value)) = inner.args.first()
        {
            if last.ident == "Option" {
                return (Shape::Optional, value.clone());
            }
            if last.ident == "Vec" {
                return (Shape::Repeated, value.clone());
            }
        }
    }
    (Shape::Required, ty.clone())
}
