public import DocumentModel

/// A way to sign in that an app offers.
public struct AuthProvider: Sendable {
    /// The provider's name; in exports always equal to its type, except for `openid-connect`.
    public var name: String
    /// `local-userpass`, `anon-user`, `api-key`, `custom-function`, `custom-token`, `oauth2-…`, `openid-connect`.
    public var type: String
    public var isDisabled: Bool
    /// The settings in the form of the export.
    public var config: Document
    /// The names of secrets, by setting.
    public var secretConfig: Document
    /// The fields of the provider's answer that are copied to the user's `data`.
    public var metadataFields: [MetadataField]
    /// The pages of the app to which a sign-in by redirects may lead, compared by bytes.
    public var redirectURIs: [String]
    /// The domains of e-mail addresses that may sign in, in lower case; empty for all.
    public var domainRestrictions: [String]

    /// The function that `custom-function` asks who signs in; `nil` if none is named.
    public var functionName: String? { config["authFunctionName"]?.stringValue }

    /// A field of an external identity that is copied to the user's `data`.
    public struct MetadataField: Sendable {
        /// A path with dots; a backslash precedes a dot that belongs to a name.
        public var name: String
        /// The name under which it is stored; by default, the last part of `name`.
        public var fieldName: String
        public var isRequired: Bool

        /// The components of the path.
        public var path: [String] { Self.path(name) }

        static func path(_ text: String) -> [String] {
            var parts = [""]
            var isEscaped = false
            for character in text {
                switch character {
                case "\\" where !isEscaped: isEscaped = true; continue
                case "." where !isEscaped: parts.append("")
                default: parts[parts.count - 1].append(character)
                }
                isEscaped = false
            }
            return parts
        }
    }

    /// The fields of an external identity's claims for the user's `data`.
    ///
    /// - Parameter requiresAll: whether required fields must be there.
    /// - Returns: `nil` when a required field is missing.
    public func metadata(of claims: Document, requiresAll: Bool = true) -> Document? {
        var data = Document()
        for field in metadataFields {
            let value = field.path.reduce(Optional(Value.document(claims))) { $0?.documentValue?[$1] }
            if let value, value != .null {
                data[field.fieldName] = value
            } else if field.isRequired, requiresAll {
                return nil
            }
        }
        return data
    }
}

/// How accounts with e-mail and password are confirmed and how their passwords are reset (`local-userpass`).
public struct EmailPasswordSettings: Sendable {
    /// How a step that needs the account's owner is carried out.
    public enum Mode: Hashable, Sendable {
        /// Immediately, without the owner's consent.
        case automatic
        /// By one of the app's functions, whose result decides.
        case function(String)
        /// By a link in a mail to the address.
        case mail
    }

    /// How a new account is confirmed.
    public var confirmation: Mode
    /// How a password is reset; never `automatic`.
    public var reset: Mode
    /// The page that the link in a confirmation mail opens; `token` and `tokenId` are appended to its query.
    public var confirmationURL: String
    public var confirmationSubject: String
    /// The page that the link in a reset mail opens; `token` and `tokenId` are appended to its query.
    public var resetURL: String
    public var resetSubject: String

    /// Reads the settings of a `local-userpass` provider. The defaults are those of App Services: no automatic confirmation, mails,
    /// default subjects.
    public init(_ provider: AuthProvider) {
        func flag(_ key: String) -> Bool {
            if case .bool(let value)? = provider.config[key] { value } else { false }
        }
        func text(_ key: String) -> String {
            if case .string(let value)? = provider.config[key] { value } else { "" }
        }
        if flag("runConfirmationFunction") {
            confirmation = .function(text("confirmationFunctionName"))
        } else {
            confirmation = flag("autoConfirm") ? .automatic : .mail
        }
        reset = flag("runResetFunction") ? .function(text("resetFunctionName")) : .mail
        confirmationURL = text("emailConfirmationUrl")
        resetURL = text("resetPasswordUrl")
        confirmationSubject = text("confirmEmailSubject")
        resetSubject = text("resetPasswordSubject")
        if confirmationSubject.isEmpty { confirmationSubject = "Confirm your e-mail address" }
        if resetSubject.isEmpty { resetSubject = "Reset your password" }
    }
}

/// How tokens of a developer's own issuer are checked (`custom-token`).
public struct CustomTokenSettings: Sendable {
    /// The source of the keys.
    public enum Keys: Hashable, Sendable {
        /// Named secrets of the app, each with a key for this algorithm, one of ``algorithms``.
        case secrets([String], algorithm: String)
        /// A JWK or JWKS at a URL.
        case published(String)
    }

    /// The algorithms of keys that are secrets. `HS256` has a shared secret, the others a public key in PEM.
    public static let algorithms = [
        "HS256", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    ]

    public var keys: Keys
    /// The audiences that a token's `aud` must name; empty stands for the app's id.
    public var audience: [String]
    /// Whether naming one of the audiences suffices; otherwise all must be named.
    public var isAnyAudienceEnough: Bool

    /// Reads the settings of a `custom-token` provider. `audience` may be a string, possibly with several values separated by
    /// commas, or an array.
    public init(_ provider: AuthProvider) {
        func texts(_ value: Value?) -> [String] {
            switch value {
            case .string(let text)?: [text]
            case .array(let items)?: items.compactMap(\.stringValue)
            default: []
            }
        }
        let config = provider.config
        if case .bool(true)? = config["useJWKURI"] {
            keys = .published(config["jwkURI"]?.stringValue ?? "")
        } else {
            keys = .secrets(
                texts(provider.secretConfig["signingKeys"]), algorithm: config["signingAlgorithm"]?.stringValue ?? "")
        }
        audience = texts(config["audience"]).flatMap { $0.split(separator: ",") }
            .map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
        isAnyAudienceEnough = config["requireAnyAudience"] == true
    }
}

/// Where a user's custom data is: the document of a collection whose field holds the user's id.
public struct CustomUserData: Hashable, Sendable {
    public var isEnabled: Bool
    @ExactText public var service: String
    @ExactText public var database: String
    @ExactText public var collection: String
    @ExactText public var userIdField: String
}
