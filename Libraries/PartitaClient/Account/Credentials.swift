import DocumentModel

/// What a user signs in with.
public enum Credentials: Sendable {
    /// Without an account.
    case anonymous
    case emailPassword(email: String, password: String)
    case apiKey(String)
    /// A JSON Web Token of the app's own issuer.
    case customToken(String)
    /// Whatever the app's authentication function wants.
    case function(Document)

    /// The provider's name in paths.
    var provider: String {
        switch self {
        case .anonymous: "anon-user"
        case .emailPassword: "local-userpass"
        case .apiKey: "api-key"
        case .customToken: "custom-token"
        case .function: "custom-function"
        }
    }

    /// The body of the call.
    var body: Document {
        switch self {
        case .anonymous: ["provider": "anon-user"]
        case .emailPassword(let email, let password):
            ["provider": "local-userpass", "username": .string(email), "password": .string(password)]
        case .apiKey(let key): ["provider": "api-key", "key": .string(key)]
        case .customToken(let token): ["provider": "custom-token", "token": .string(token)]
        case .function(let payload): payload
        }
    }
}
