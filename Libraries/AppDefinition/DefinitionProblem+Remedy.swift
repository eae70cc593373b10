import DocumentModel

extension DefinitionProblem.Code {
    /// What to do about a problem of this kind. A message often says it for its own case.
    public var remedy: String {
        switch self {
        case .fileMissing: "add the file, or remove what names it"
        case .fileUnreadable: "let this user read the file, or take it out of the app"
        case .fileTooLarge: "make it smaller, or move it out of the app"
        case .fileNotText: "save the file in UTF-8"
        case .fileNameNotText: "rename it"
        case .folderMisnamed: "rename the folder"
        case .fileNotKept: "move large files out of the app"
        case .linkNotFollowed: "put the file or folder itself there"
        case .jsonInvalid: "correct the JSON at this place"
        case .jsonTrailingComma: "remove the comma"
        case .appIdDerived: "write app_id into the root file, or deploy with --app-id"
        case .fieldMissing: "add the field"
        case .fieldType: "write a value of the type that is named"
        case .fieldValue: "write one of the values that are named"
        case .fieldUnknown: "correct the name, or remove the field"
        case .fieldUnused: "remove the field, or do what its message says instead"
        case .nameDuplicate: "rename one of them, or remove it"
        case .functionUnknown: "add the function, or correct the name"
        case .functionSourceMissing: "add the source, or remove the function from the configuration"
        case .functionNotConfigured: "list the function in functions/config.json, or remove its source"
        case .functionMissing: "name a function"
        case .functionSyntax: "correct the source at this line"
        case .functionNotExported: "assign the function to exports"
        case .functionNotChecked:
            "divide the source, or search it yourself for what the documentation calls unsupported"
        case .serviceUnknown: "add the service, or correct the name"
        case .serviceWithoutRules:
            "add a rule to the folder rules of the service, or let its functions run as the system"
        case .collectionUnknown: "correct the name, or add a schema or rules of the collection"
        case .collectionConflict: "make the definitions agree, rename one collection, or deploy two apps"
        case .partShadowed: "keep one of the two places"
        case .secretInClear: "remove it, change the secret, and set it with `partita secret set`"
        case .valueUnknown: "add the value, or correct the name"
        case .ruleInvalid: "correct the expression at this place"
        case .ruleOperatorUnknown: "use an operator that rules have"
        case .ruleExpansionUnknown: "use an expansion that rules have"
        case .schemaInvalid: "correct the schema at this place"
        case .schemaTypeUnsupported: "use a BSON type that is supported"
        case .schemaPatternUncheckable:
            "write the pattern without what Postgres lacks, or write such documents only by functions and clients"
        case .partitionKeyMissing: "name the field that has the partition of each document"
        case .partitionKeyTypeMismatch: "give the field the type of the partition key, if the collection is to sync"
        case .syncsNothing: "correct the names of the sync configuration, or turn sync off"
        case .realmClassUnfit: "change the schema, if clients with a Realm SDK need this part"
        case .syncTypeUnsupported: "deploy with --sync-by, or write a partition-based configuration"
        case .syncTranslated: "let devices open the partitions that they need"
        case .developmentMode: "turn development mode off before the app is in use"
        case .syncByInvalid: "leave --sync-by out, or name another field"
        case .mediaUnreachable: "sync the collection, or remove it from media in partita.json"
        case .matchInvalid: "correct the filter or projection at this place"
        case .scheduleInvalid: "write a cron expression of five fields"
        case .endpointNotServed: "change what the message names, and deploy again"
        case .featureNotServed: "do what the message says instead, or remove the part"
        }
    }
}

extension DefinitionProblem {
    /// What to do about each kind of problem that there is, sorted by code: `json-invalid: correct the JSON at this place`.
    public static func remedies(_ problems: [DefinitionProblem]) -> [String] {
        Set(problems.map(\.code)).map { "\($0.rawValue): \($0.remedy)" }.sorted()
    }
}
