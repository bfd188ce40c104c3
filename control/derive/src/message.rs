//! `Message`, `Record` and `Union`: declarations of the binary API.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, GenericArgument, Ident, Lit, LitStr, Path,
    PathArguments, Token, Type,
};

use crate::field::doc;

/// One field of a message or record.
struct Field {
    ident: Ident,
    ty: Type,
    name: String,
    about: String,
    options: TokenStream,
    counted: Option<Counted>,
}

/// `n: u8` or `n: u8, before = y`.
struct Counted {
    name: Ident,
    ty: Type,
    before: Option<Ident>,
}

impl Parse for Counted {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        let mut before = None;
        if input.parse::<Option<Token![,]>>()?.is_some() {
            let word: Ident = input.parse()?;
            if word != "before" {
                return Err(Error::new(word.span(), "expected `before = field`"));
            }
            input.parse::<Token![=]>()?;
            before = Some(input.call(Ident::parse_any)?);
        }
        Ok(Self { name, ty, before })
    }
}

/// Part of a message on the wire, in order.
enum Piece<'a> {
    Field(&'a Field),
    /// The field that counts this one.
    Count(&'a Field, &'a Counted),
}

pub fn record(input: &DeriveInput) -> syn::Result<TokenStream> {
    let fields = fields(input)?;
    let body = Body::of(&fields);
    let Body { infos, size, encode, decode } = &body;
    let (ident, name, file) = (&input.ident, name(input)?, file(input)?);
    let about = doc(&input.attrs);
    Ok(quote! {
        impl ::control::api::Field for #ident {
            const TYPE: ::control::api::schema::Type = ::control::api::schema::Type::Named(
                &::control::api::schema::Declaration {
                    name: #name,
                    file: #file,
                    about: #about,
                    body: ::control::api::schema::Body::Record(&[#(#infos),*]),
                },
            );
            const SIZE: usize = #size;

            fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
                #encode
            }

            fn decode(
                from: &mut ::control::api::Reader<'_>,
            ) -> ::core::result::Result<Self, ::control::api::Short> {
                #decode
            }
        }
    })
}

pub fn message(input: &DeriveInput) -> syn::Result<TokenStream> {
    let about = doc(&input.attrs);
    if about.is_empty() {
        return Err(Error::new_spanned(&input.ident, "needs a doc comment: it is the reference"));
    }
    let fields = fields(input)?;
    let Body { infos, size, encode, decode } = Body::of(&fields);
    let (ident, name) = (&input.ident, name(input)?);
    let head = head(input)?;
    let options = options(&input.attrs)?;
    let request = request(input, &head, &name)?;
    let head = format_ident!("{head}");
    Ok(quote! {
        impl ::control::api::Message for #ident {
            const INFO: &'static ::control::api::schema::MessageInfo =
                &::control::api::schema::MessageInfo {
                    name: #name,
                    about: #about,
                    head: ::control::api::schema::Head::#head,
                    fields: &[#(#infos),*],
                    options: &[#options],
                    size: #size,
                };

            fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
                #encode
            }

            fn decode(
                from: &mut ::control::api::Reader<'_>,
            ) -> ::core::result::Result<Self, ::control::api::Short> {
                #decode
            }
        }
        #request
    })
}

pub fn union(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(
            &input.ident,
            "expected an enum with a variant for each arm",
        ));
    };
    let (ident, name, file) = (&input.ident, name(input)?, file(input)?);
    let about = doc(&input.attrs);
    let (mut infos, mut arms, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        let Fields::Unnamed(inner) = &variant.fields else {
            return Err(Error::new_spanned(variant, "expected one type in parentheses"));
        };
        let Some(arm) = inner.unnamed.first().filter(|_| inner.unnamed.len() == 1) else {
            return Err(Error::new_spanned(variant, "expected one type in parentheses"));
        };
        let (ty, case) = (&arm.ty, &variant.ident);
        let name = renamed(&variant.attrs)?.unwrap_or_else(|| snake(&case.to_string()));
        infos.push(info(&name, ty, &doc(&variant.attrs), &options(&variant.attrs)?));
        arms.push(quote!(Self::#case(arm) => ::control::api::Field::encode(arm, out),));
        sizes.push(quote!(<#ty as ::control::api::Field>::SIZE));
    }
    Ok(quote! {
        impl ::control::api::Union for #ident {
            const DECLARATION: &'static ::control::api::schema::Declaration =
                &::control::api::schema::Declaration {
                    name: #name,
                    file: #file,
                    about: #about,
                    body: ::control::api::schema::Body::Union(&[#(#infos),*]),
                };
            const SIZE: usize = {
                let mut size = 0;
                #(if #sizes > size { size = #sizes; })*
                size
            };

            fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
                match self { #(#arms)* }
            }
        }
    })
}

/// Code that a derive makes of the fields.
struct Body {
    infos: Vec<TokenStream>,
    size: TokenStream,
    encode: TokenStream,
    decode: TokenStream,
}

impl Body {
    fn of(fields: &[Field]) -> Self {
        let pieces = pieces(fields);
        let sizes = pieces.iter().map(|piece| match piece {
            Piece::Field(Field { counted: Some(_), .. }) => quote!(0),
            Piece::Field(Field { ty, .. }) | Piece::Count(_, Counted { ty, .. }) => {
                quote!(<#ty as ::control::api::Field>::SIZE)
            }
        });
        let decode = pieces.iter().map(decode_piece);
        let idents = fields.iter().map(|field| &field.ident);
        let locals = fields.iter().map(local);
        let encode = pieces.iter().map(encode_piece);
        Self {
            infos: pieces.iter().map(piece_info).collect(),
            size: quote!(0 #(+ #sizes)*),
            encode: quote!(let _ = &out; #(#encode)*),
            decode: quote! {
                let _ = &from;
                #(#decode)*
                Ok(Self { #(#idents: #locals),* })
            },
        }
    }
}

fn pieces(fields: &[Field]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for field in fields {
        let counts = fields.iter().filter_map(|f| f.counted.as_ref().map(|c| (f, c)));
        let here = counts.filter(|(counted, count)| {
            count.before.as_ref().unwrap_or(&counted.ident) == &field.ident
        });
        pieces.extend(here.map(|(counted, count)| Piece::Count(counted, count)));
        pieces.push(Piece::Field(field));
    }
    pieces
}

fn piece_info(piece: &Piece<'_>) -> TokenStream {
    match piece {
        Piece::Count(_, Counted { name, ty, .. }) => {
            let name = name.unraw().to_string();
            info(&name, ty, "", &TokenStream::new())
        }
        Piece::Field(Field { name, ty, about, options, counted: Some(counted), .. }) => {
            let (element, by) = (element(ty), counted.name.unraw().to_string());
            quote! {
                ::control::api::schema::FieldInfo {
                    name: #name,
                    ty: <#element as ::control::api::Field>::TYPE,
                    count: ::control::api::schema::Count::Counted(#by),
                    options: &[#options],
                    about: #about,
                }
            }
        }
        Piece::Field(field) => info(&field.name, &field.ty, &field.about, &field.options),
    }
}

fn info(name: &str, ty: &Type, about: &str, options: &TokenStream) -> TokenStream {
    quote! {
        ::control::api::schema::FieldInfo {
            name: #name,
            ty: <#ty as ::control::api::Field>::TYPE,
            count: <#ty as ::control::api::Field>::COUNT,
            options: &[#options],
            about: #about,
        }
    }
}

fn encode_piece(piece: &Piece<'_>) -> TokenStream {
    match piece {
        Piece::Count(Field { ident, .. }, Counted { ty, .. }) => quote! {
            ::control::api::Field::encode(
                &<#ty as ::control::api::Counter>::of(self.#ident.len()),
                out,
            );
        },
        Piece::Field(Field { ident, counted: Some(Counted { ty, .. }), .. }) => {
            quote!(::control::api::encode_all::<#ty, _>(&self.#ident, out);)
        }
        Piece::Field(Field { ident, .. }) => {
            quote!(::control::api::Field::encode(&self.#ident, out);)
        }
    }
}

fn decode_piece(piece: &Piece<'_>) -> TokenStream {
    match piece {
        Piece::Count(field, Counted { ty, .. }) => {
            let count = count_local(field);
            quote!(let #count = <#ty as ::control::api::Field>::decode(from)?;)
        }
        Piece::Field(field) if field.counted.is_some() => {
            let (local, count) = (local(field), count_local(field));
            quote! {
                let #local = ::control::api::decode_all(
                    from,
                    ::control::api::Counter::count(#count),
                )?;
            }
        }
        Piece::Field(field) => {
            let local = local(field);
            quote!(let #local = ::control::api::Field::decode(from)?;)
        }
    }
}

fn local(field: &Field) -> Ident {
    format_ident!("field_{}", field.ident.unraw())
}

fn count_local(field: &Field) -> Ident {
    format_ident!("count_{}", field.ident.unraw())
}

/// `T` of `Vec<T>`.
fn element(ty: &Type) -> &Type {
    if let Type::Path(path) = ty
        && let Some(last) = path.path.segments.last()
        && let PathArguments::AngleBracketed(inner) = &last.arguments
        && let Some(GenericArgument::Type(element)) = inner.args.first()
    {
        return element;
    }
    ty
}

fn fields(input: &DeriveInput) -> syn::Result<Vec<Field>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "expected a struct"));
    };
    match &data.fields {
        Fields::Named(named) => named.named.iter().map(field).collect(),
        Fields::Unit => Ok(Vec::new()),
        Fields::Unnamed(_) => Err(Error::new_spanned(&input.ident, "fields need names")),
    }
}

fn field(field: &syn::Field) -> syn::Result<Field> {
    let ident = field.ident.clone().expect("fields are named here");
    let name = renamed(&field.attrs)?.unwrap_or_else(|| ident.unraw().to_string());
    let counted = attribute(&field.attrs, "counted").map(Attribute::parse_args).transpose()?;
    let is_vec = matches!(&field.ty, Type::Path(path)
        if path.path.segments.last().is_some_and(|last| last.ident == "Vec"));
    if is_vec != counted.is_some() {
        return Err(Error::new_spanned(field, "`Vec` and #[counted(n: u8)] go together"));
    }
    let (about, options) = (doc(&field.attrs), options(&field.attrs)?);
    Ok(Field { ident, ty: field.ty.clone(), name, about, options, counted })
}

/// `Request`, `Reply`, …, from `#[head(…)]` or the ending of the name.
fn head(input: &DeriveInput) -> syn::Result<String> {
    if let Some(attr) = attribute(&input.attrs, "head") {
        let word: Ident = attr.parse_args()?;
        let known = ["request", "reply", "details", "event", "index", "bare"];
        if !known.iter().any(|head| word == head) {
            return Err(Error::new(word.span(), format!("expected one of {known:?}")));
        }
        let text = word.to_string();
        return Ok(text[..1].to_uppercase() + &text[1..]);
    }
    let name = input.ident.to_string();
    let ending = ["Reply", "Details", "Event"].into_iter().find(|ending| name.ends_with(ending));
    Ok(ending.unwrap_or("Request").to_owned())
}

/// Reply to a request, and the kind of its service.
fn request(input: &DeriveInput, head: &str, name: &str) -> syn::Result<TokenStream> {
    let ident = &input.ident;
    let types =
        |attr: &Attribute| attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
    let info = |path: &Path| quote!(<#path as ::control::api::Message>::INFO);
    let answer = if let Some(attr) = attribute(&input.attrs, "reply") {
        let reply: Path = attr.parse_args()?;
        let info = info(&reply);
        quote! {
            impl ::control::api::Call for #ident {
                type Reply = #reply;
                const REPLY: &'static ::control::api::schema::MessageInfo = #info;
            }
        }
    } else if let Some(attr) = attribute(&input.attrs, "details") {
        let details: Path = attr.parse_args()?;
        quote!(impl ::control::api::Dump for #ident { type Details = #details; })
    } else if let Some(attr) = attribute(&input.attrs, "stream") {
        let types: Vec<_> = types(attr)?.into_iter().collect();
        let [details, reply] = types.as_slice() else {
            return Err(Error::new_spanned(attr, "expected #[stream(Details, Reply)]"));
        };
        quote! {
            impl ::control::api::Stream for #ident {
                type Details = #details;
                type Reply = #reply;
            }
        }
    } else if attribute(&input.attrs, "silent").is_some() {
        TokenStream::new()
    } else if head == "Request" {
        let (reply, options) = (format!("{name}_reply"), options(&input.attrs)?);
        quote! {
            impl ::control::api::Call for #ident {
                type Reply = ();
                const REPLY: &'static ::control::api::schema::MessageInfo =
                    &::control::api::plain_reply(#reply, &[#options]);
            }
        }
    } else {
        return Ok(TokenStream::new());
    };
    let events = attribute(&input.attrs, "events").map(types).transpose()?.unwrap_or_default();
    let events = events.iter().map(info);
    Ok(quote! {
        impl ::control::api::Request for #ident {
            const EVENTS: &'static [&'static ::control::api::schema::MessageInfo] =
                &[#(#events),*];
        }
        #answer
    })
}

/// The options of a message, field or arm as pairs.
fn options(attrs: &[Attribute]) -> syn::Result<TokenStream> {
    let mut options = TokenStream::new();
    for attr in attrs {
        let path = attr.path();
        if path.is_ident("preset") {
            let value = preset(attr.parse_args()?)?;
            options.extend(quote!(("default", #value),));
        } else if path.is_ident("discriminator") || path.is_ident("case") {
            let word: LitStr = attr.parse_args()?;
            let name = if path.is_ident("case") { "case" } else { "discriminator" };
            options.extend(quote!((#name, ::control::api::schema::Preset::Word(#word)),));
        } else if path.is_ident("option") {
            let words = attr.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated)?;
            let mut words = words.iter();
            let name = words.next();
            let value = match words.next() {
                Some(word) => quote!(::control::api::schema::Preset::Word(#word)),
                None => quote!(::control::api::schema::Preset::None),
            };
            options.extend(quote!((#name, #value),));
        }
    }
    Ok(options)
}

fn preset(value: Lit) -> syn::Result<TokenStream> {
    match value {
        Lit::Int(number) => Ok(quote!(::control::api::schema::Preset::Number(#number))),
        Lit::Float(number) => Ok(quote!(::control::api::schema::Preset::Real(#number))),
        Lit::Str(word) => Ok(quote!(::control::api::schema::Preset::Word(#word))),
        Lit::Bool(value) => {
            let word = value.value.to_string();
            Ok(quote!(::control::api::schema::Preset::Word(#word)))
        }
        other => Err(Error::new_spanned(other, "expected a number, text or truth value")),
    }
}

fn attribute<'a>(attrs: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attrs.iter().find(|attr| attr.path().is_ident(name))
}

/// The string of `#[name("…")]`.
fn renamed(attrs: &[Attribute]) -> syn::Result<Option<String>> {
    let name = attribute(attrs, "name").map(Attribute::parse_args::<LitStr>).transpose()?;
    Ok(name.map(|name| name.value()))
}

fn name(input: &DeriveInput) -> syn::Result<String> {
    Ok(renamed(&input.attrs)?.unwrap_or_else(|| snake(&input.ident.to_string())))
}

/// The string of `#[file("…")]`; empty for the module's own.
fn file(input: &DeriveInput) -> syn::Result<String> {
    let file = attribute(&input.attrs, "file").map(Attribute::parse_args::<LitStr>).transpose()?;
    Ok(file.map(|file| file.value()).unwrap_or_default())
}

/// `sw_interface_set_flags` of `SwInterfaceSetFlags`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
