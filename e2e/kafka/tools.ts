/** Runs Apache Kafka's own command line tools, and the suites' Java programs, by name. */
import { join } from 'node:path'

import { e2eFolder } from '../lib/paths.ts'
import { describeFailure, LongProcess, runProgram, type ProgramOptions, type ProgramResult } from '../lib/process.ts'
import { requireProgram } from '../lib/requirements.ts'
import { compileJavaPrograms, installKafka } from './install.ts'

/** Short names as in Kafka's `bin` folder, and the suites' own programs. */
const toolClasses = {
  'kafka-broker-api-versions': 'org.apache.kafka.tools.BrokerApiVersionsCommand',
  'kafka-client-metrics': 'org.apache.kafka.tools.ClientMetricsCommand',
  'kafka-configs': 'kafka.admin.ConfigCommand',
  'kafka-console-consumer': 'org.apache.kafka.tools.consumer.ConsoleConsumer',
  'kafka-console-producer': 'org.apache.kafka.tools.ConsoleProducer',
  'kafka-consumer-groups': 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
  'kafka-delete-records': 'org.apache.kafka.tools.DeleteRecordsCommand',
  'kafka-dump-log': 'org.apache.kafka.tools.DumpLogSegments',
  'kafka-e2e-latency': 'org.apache.kafka.tools.EndToEndLatency',
  'kafka-get-offsets': 'org.apache.kafka.tools.GetOffsetShell',
  'kafka-groups': 'org.apache.kafka.tools.GroupsCommand',
  'kafka-leader-election': 'org.apache.kafka.tools.LeaderElectionCommand',
  'kafka-log-dirs': 'org.apache.kafka.tools.LogDirsCommand',
  'kafka-producer-perf-test': 'org.apache.kafka.tools.ProducerPerformance',
  'kafka-reassign-partitions': 'org.apache.kafka.tools.reassign.ReassignPartitionsCommand',
  'kafka-storage': 'kafka.tools.StorageTool',
  'kafka-topics': 'org.apache.kafka.tools.TopicCommand',
  'kafka-verifiable-consumer': 'org.apache.kafka.tools.VerifiableConsumer',
  'kafka-verifiable-producer': 'org.apache.kafka.tools.VerifiableProducer',
  'client-worker': 'ClientWorker',
  'crash-producer': 'CrashProducer',
  'keyed-load': 'KeyedLoad',
  'log-reader': 'LogReader',
  'partition-consumer': 'PartitionConsumer',
  'round-trip': 'RoundTrip',
} as const

export type ToolName = keyof typeof toolClasses

/** The flags that Kafka's own start scripts give to the virtual machine. */
export const serverJvmFlags = [
  '-server',
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  '-XX:InitiatingHeapOccupancyPercent=35',
  '-XX:+ExplicitGCInvokesConcurrent',
  '-XX:MaxInlineLevel=15',
  '-Djava.awt.headless=true',
]

export class KafkaTools {
  /** The folder with the jars. */
  readonly libFolder: string
  readonly #classesFolder: string

  private constructor(kafkaFolder: string, classesFolder: string) {
    this.libFolder = join(kafkaFolder, 'lib')
    this.#classesFolder = classesFolder
  }

  /** Fetches and compiles what is missing first. */
  static async open(): Promise<KafkaTools> {
    requireProgram('java', "Java 17 or newer runs Kafka's tools", ['-version'])
    const kafkaFolder = await installKafka()
    return new KafkaTools(kafkaFolder, await compileJavaPrograms(kafkaFolder))
  }

  /** Arguments for `java` that run a tool. */
  javaArgs(tool: ToolName, args: readonly string[], jvmFlags: readonly string[] = []): string[] {
    return [
      // Tools live for seconds: a small heap and no optimising compiler threads to fight with the broker over cores.
      ...(jvmFlags.length > 0 ? jvmFlags : ['-Xmx512M', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']),
      '-Xshare:auto',
      `-Dlog4j2.configurationFile=${join(e2eFolder, 'kafka', 'log4j2-tools.properties')}`,
      `-Dkafka.tools.loglevel=${process.env['OTTLA_E2E_TOOLS_LOGLEVEL'] ?? 'error'}`,
      '-cp',
      `${join(this.libFolder, '*')}:${this.#classesFolder}`,
      toolClasses[tool],
      ...args,
    ]
  }

  /** Runs a tool to its end, whatever its status. */
  run(tool: ToolName, args: readonly string[], options: ProgramOptions = {}): Promise<ProgramResult> {
    return runProgram('java', this.javaArgs(tool, args), options)
  }

  /** As {@link run}; a status other than 0 throws. */
  async runOk(tool: ToolName, args: readonly string[], options: ProgramOptions = {}): Promise<ProgramResult> {
    const result = await this.run(tool, args, options)
    if (result.status !== 0) throw new Error(describeFailure(tool, args, result))
    return result
  }

  /** Starts a tool that lives on. */
  start(tool: ToolName, args: readonly string[], onLine: (line: string) => void): LongProcess {
    return new LongProcess('java', this.javaArgs(tool, args), { onLine })
  }
}
