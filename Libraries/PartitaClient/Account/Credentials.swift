import DocumentModel

/// The credentials that a user signs in with.
public enum Credentials: Sendable {
    /// Signs in anonymously, without an account.
    case anonymous
    case emailPassword(email: String, password: String)
    case apiKey(String)
    /// A JSON Web Token of the app's own issuer.
    case customToken(String)
    /// The payload for the app's authentication function.
    case function(Document)

    /// The provider's name in URL paths.
    var provider: String {
        switch self {
        case .anonymous: "anon-user"
        case .emailPassword: "local-userpass"
        case .apiKey: "api-key"
        case .customToken: "custom-token"
        case .function: "custom-function"
        }
    }

    /// The body of the login call.
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
