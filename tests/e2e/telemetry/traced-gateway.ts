import { createLog } from '../../../src/lib/log.ts';
import { startHttp, type HttpGateway } from '../../../src/main.ts';
import { startCollector, type Collector } from '../../support/collector.ts';
import { testConfig, type LogLine, type Servers, type SettingsInput } from '../../support/gateway.ts';
import { owned } from '../../support/owned.ts';

export interface TracedGateway extends HttpGateway {
  collector: Collector;
  logs: LogLine[];
  /** Ends the gateway, and with it all spans. */
  close(): Promise<void>;
}

/** A gateway that sends its spans to a collector, with variables of OpenTelemetry besides. */
export async function tracedGateway(
  servers: Servers,
  { settings = {}, otel = {} }: { settings?: SettingsInput; otel?: Record<string, string> } = {},
): Promise<TracedGateway> {
  const collector = await startCollector();
  const logs: LogLine[] = [];
  const log = createLog('debug', (line) => logs.push(JSON.parse(line) as LogLine));
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20', ...otel };
  const running = await startHttp({ ...(await testConfig(servers, settings)), otel: variables }, log);
  return owned({ ...running, collector, logs });
}
