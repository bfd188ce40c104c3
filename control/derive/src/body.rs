//! Fields of messages: their declarations and the code for their bytes.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, GenericArgument, Ident, PathArguments, Token, Type,
};

use crate::field::doc;
use crate::message::{attribute, options, renamed};

/// One field of a message or record.
pub struct Field {
    ident: Ident,
    ty: Type,
    name: String,
    about: String,
    options: TokenStream,
    counted: Option<Counted>,
    /// Whether it stands for fields of its own.
    is_flat: bool,
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

/// Code that a derive makes of the fields.
pub struct Body {
    /// A `&'static [FieldInfo]`.
    pub infos: TokenStream,
    pub size: TokenStream,
    pub encode: TokenStream,
    pub decode: TokenStream,
}

impl Body {
    pub fn of(fields: &[Field]) -> Self {
        let pieces = pieces(fields);
        let sizes = pieces.iter().map(|piece| match piece {
            Piece::Field(Field { counted: Some(_), .. }) => quote!(0),
            Piece::Field(Field { ty, is_flat: true, .. }) => {
                quote!(<#ty as ::control::api::Fields>::SIZE)
            }
            Piece::Field(Field { ty, .. }) | Piece::Count(_, Counted { ty, .. }) => {
                quote!(<#ty as ::control::api::Field>::SIZE)
            }
        });
        let decode = pieces.iter().map(decode_piece);
        let idents = fields.iter().map(|field| &field.ident);
        let locals = fields.iter().map(local);
        let encode = pieces.iter().map(encode_piece);
        Self {
            infos: infos(&pieces),
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

/// All declarations as a slice; those of flattened fields are known when the others are compiled.
fn infos(pieces: &[Piece<'_>]) -> TokenStream {
    let parts = pieces.iter().map(|piece| match piece {
        Piece::Field(Field { ty, is_flat: true, .. }) => {
            quote!(<#ty as ::control::api::Fields>::FIELDS)
        }
        piece => {
            let info = piece_info(piece);
            quote!(&[#info])
        }
    });
    let is_flat = |piece: &Piece<'_>| matches!(piece, Piece::Field(Field { is_flat: true, .. }));
    if !pieces.iter().any(is_flat) {
        let infos = pieces.iter().map(piece_info);
        return quote!(&[#(#infos),*]);
    }
    quote! {
        {
            const PARTS: &[&[::control::api::schema::FieldInfo]] = &[#(#parts),*];
            &::control::api::schema::joined::<{ ::control::api::schema::count(PARTS) }>(PARTS)
        }
    }
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
                    is_secret: <#element as ::control::api::Field>::IS_SECRET,
                }
            }
        }
        Piece::Field(field) => info(&field.name, &field.ty, &field.about, &field.options),
    }
}

pub fn info(name: &str, ty: &Type, about: &str, options: &TokenStream) -> TokenStream {
    quote! {
        ::control::api::schema::FieldInfo {
            name: #name,
            ty: <#ty as ::control::api::Field>::TYPE,
            count: <#ty as ::control::api::Field>::COUNT,
            options: &[#options],
            about: #about,
            is_secret: <#ty as ::control::api::Field>::IS_SECRET,
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
        Piece::Field(Field { ident, is_flat: true, .. }) => {
            quote!(::control::api::Fields::encode(&self.#ident, out);)
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
            let ty = if field.is_flat { quote!(Fields) } else { quote!(Field) };
            quote!(let #local = ::control::api::#ty::decode(from)?;)
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

/// The fields of a struct.
pub fn fields(input: &DeriveInput) -> syn::Result<Vec<Field>> {
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
    let is_flat = attribute(&field.attrs, "flatten").is_some();
    Ok(Field { ident, ty: field.ty.clone(), name, about, options, counted, is_flat })
}
