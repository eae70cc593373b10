public import DocumentModel

/// A JavaScript function of the app.
public struct FunctionDefinition: Sendable {
    /// Its name, which includes the folder (`chat/notify`) if the app nests functions.
    public var name: String
    /// The file of the source inside the app's folder, for error messages.
    public var file: String
    public var source: String
    /// Whether only the server may call it: triggers, rules and other functions.
    public var isPrivate: Bool
    /// Whether it runs without data rules.
    public var runsAsSystem: Bool
    /// The user as whom it runs, whoever the caller is; `nil`: the caller.
    public var runAsUserId: String?
    /// The rule that must hold for the caller of a function that isn't private; `nil` allows every signed-in user.
    public var canEvaluate: RuleExpression?
    /// Whether arguments are kept out of the logs.
    public var hidesArguments: Bool
    /// Whether the app's configuration names it. One that is only there as a source is private.
    public var isListed: Bool
}

/// A named constant of the app, or a named reference to a secret.
public struct AppValue: Sendable {
    public var name: String
    /// The value; for one from a secret, the secret's name.
    public var value: Value
    public var isFromSecret: Bool
}

/// A URL of the app that runs a function.
public struct HTTPEndpoint: Sendable {
    public var route: String
    /// The HTTP method in upper case; `*` for any.
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
