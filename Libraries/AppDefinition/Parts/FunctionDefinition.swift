public import DocumentModel

/// A JavaScript function of the app.
public struct FunctionDefinition: Sendable {
    /// Its name; with a folder before it (`chat/notify`) where the app nests them.
    public var name: String
    /// The file of the source inside the app's folder, for error messages.
    public var file: String
    public var source: String
    /// Callable only by the server: triggers, rules, other functions.
    public var isPrivate: Bool
    /// Runs without data rules.
    public var runsAsSystem: Bool
    /// Runs as this user, whoever called.
    public var runAsUserId: String?
    /// Must hold for the caller of a function that isn't private; `nil` allows every signed-in user.
    public var canEvaluate: RuleExpression?
    /// Whether arguments are kept out of the logs.
    public var hidesArguments: Bool
}

/// A named constant of the app, or the name of a secret.
public struct AppValue: Sendable {
    public var name: String
    /// The value; for one from a secret, the secret's name.
    public var value: Value
    public var isFromSecret: Bool
}

/// A URL of the app that runs a function.
public struct HTTPEndpoint: Sendable {
    public var route: String
    /// Upper case; `*` for any.
    public var method: String
    public var functionName: String
    /// `NO_VALIDATION`, `SECRET_AS_QUERY_PARAM` or `VERIFY_PAYLOAD`.
    public var validationMethod: String
    public var secretName: String?
    /// Whether the function's result is the response's body.
    public var respondsWithResult: Bool
    public var isDisabled: Bool
    /// `JSON` or `EJSON`.
    public var returnType: String
}
