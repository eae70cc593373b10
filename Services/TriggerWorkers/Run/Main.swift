import TriggerWorkers

@main
enum Main {
    static func main() async { await TriggerWorkersServer.main.run { try TriggerWorkersServer.make(&$0) } }
}
