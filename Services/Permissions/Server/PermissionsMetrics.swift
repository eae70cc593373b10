import Metrics

/// The metrics of permissions.
enum PermissionsMetrics {
    static let decisions = MetricFamily<Counter>(
        label: "permissions_decisions_total", help: "Decisions, by the access that they give.", dimensions: ["access"])
    static let decisionSeconds = Timer(
        label: "permissions_decision_seconds", help: "Time from a question to the committed grant.")
    static let ruleFailures = Counter(
        label: "permissions_rule_failures_total", help: "Rules and rule functions that failed, which denies access.")
    static let rulePasses = Counter(
        label: "permissions_rule_passes_total",
        help: "Passes over an app's answers, after a start or a deployment, that left none of older rules.")
    static let dependencyChecks = Counter(
        label: "permissions_dependency_checks_total", help: "Dependencies that were matched with changes.")
    static let orphans = Counter(
        label: "permissions_orphaned_grants_total",
        help: "Grants that were ended since the question that they answer was gone.")
    static let droppedRequests = Counter(
        label: "permissions_dropped_requests_total", help: "Questions that could not be answered.")
}
