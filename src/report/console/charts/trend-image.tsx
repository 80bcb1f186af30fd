/** Draws a chart as a PNG for messages, with the same scales and paths as the charts on pages. */
import { createRequire } from 'node:module';
import { renderAsync } from '@resvg/resvg-js';
import { renderToString } from 'preact-render-to-string';
import { formatValue, minute } from '../../../core/format.ts';
import type { TrendChart, TrendLevel, TrendMark, TrendMarkKind } from '../../model/charts.ts';
import { markNumbers, PLOT_WIDTH, type PlotSize, thinned, trendGeometry } from './trend-geometry.ts';

/** Font size that is readable even at half the image size, as in a message on a phone. */
const FONT = 20;
const plot: PlotSize = { height: 380, top: 30, bottom: 34, yTicks: 4, xTicks: 6 };
const margin = { left: 110, right: 30, top: 62 } as const;
const LINE_HEIGHT = 30;
/** Maximum number of marks; older marks are omitted. */
const MAX_MARKS = 6;

/** Dark on white, because messages may show the image on any background. */
const colors = {
  text: '#1b2330',
  quiet: '#4b5565',
  grid: '#dfe3e9',
  series: ['#2459c4', '#b4540a', '#7a3fa0', '#17683f'],
  critical: '#b0202f',
  warning: '#7d4e00',
  normal: '#17683f',
  marks: { deployment: '#6b7484', onset: '#b0202f', notification: '#2459c4', resolved: '#17683f' } satisfies Record<
    TrendMarkKind,
    string
  >,
} as const;

/** The default font, bundled because system fonts differ from machine to machine, and containers have none. */
const fontFiles = ['400Regular/Arimo_400Regular.ttf', '700Bold/Arimo_700Bold.ttf'].map((file) =>
  createRequire(import.meta.url).resolve(`@expo-google-fonts/arimo/${file}`),
);

export async function trendImage(
  chart: TrendChart & { readonly from: Date; readonly until: Date },
): Promise<Uint8Array> {
  const image = await renderAsync(renderToString(<TrendImage {...chart} />), {
    font: { fontFiles, loadSystemFonts: true, defaultFontFamily: 'Arimo' },
  });
  return image.asPng();
}

function TrendImage(chart: Parameters<typeof trendImage>[0]) {
  const { title, from, until, levels = [], normal = null, unit } = chart;
  const series = chart.series.map(({ points }) => thinned(points, from, until));
  const marks = (chart.marks ?? []).filter(({ at }) => at >= from && at <= until).slice(-MAX_MARKS);
  const { x, y, yTicks, xTicks, paths, normalRange } = trendGeometry(chart, series, from, until, plot);
  const width = margin.left + PLOT_WIDTH + margin.right;
  const height = margin.top + plot.height + (marks.length === 0 ? 10 : 16 + marks.length * LINE_HEIGHT);
  return (
    <svg xmlns="http://www.w3.org/2000/svg" width={width} height={height} font-family="Arimo" font-size={FONT}>
      <rect width={width} height={height} fill="#ffffff" />
      <text x={24} y={38} font-size={26} font-weight="700" fill={colors.text}>
        {title}
      </text>
      <text x={width - margin.right} y={38} text-anchor="end" fill={colors.quiet}>
        times in UTC
      </text>
      <g transform={`translate(${margin.left} ${margin.top})`}>
        {yTicks.map((tick) => (
          <g key={tick}>
            <line x1={0} x2={PLOT_WIDTH} y1={y(tick)} y2={y(tick)} stroke={colors.grid} />
            <text x={-12} y={y(tick) + 7} text-anchor="end" fill={colors.quiet}>
              {formatValue(tick, unit)}
            </text>
          </g>
        ))}
        {xTicks.map(({ at, text }) => (
          <text key={at.getTime()} x={x(at)} y={plot.height - 4} text-anchor="middle" fill={colors.quiet}>
            {text}
          </text>
        ))}
        {normal === null ? null : <rect x={0} width={PLOT_WIDTH} {...normalRange} fill={colors.normal} opacity={0.1} />}
        {paths.map(({ band, line }, index) => (
          <g key={index}>
            <path d={band} fill={colors.series[index] ?? colors.text} opacity={0.16} />
            <path d={line} fill="none" stroke={colors.series[index] ?? colors.text} stroke-width={3} />
            {series[index]?.map((point) => (
              <circle
                key={point.at.getTime()}
                cx={x(point.at)}
                cy={y(point.value)}
                r={4}
                fill={colors.series[index] ?? colors.text}
              />
            ))}
          </g>
        ))}
        {levels.map((level) => (
          <Level key={level.text} level={level} place={y(level.value)} />
        ))}
        {marks.map(({ at, text, kind = 'deployment' }) => (
          <line
            key={`${at.getTime()}${text}`}
            x1={x(at)}
            x2={x(at)}
            y1={plot.top}
            y2={plot.height - plot.bottom}
            stroke={colors.marks[kind]}
            stroke-width={kind === 'onset' ? 3 : 2}
            stroke-dasharray={kind === 'onset' ? undefined : '4 5'}
          />
        ))}
        {markNumbers(marks.map(({ at }) => x(at))).map(({ text, place }) => (
          <text key={text} x={place} y={plot.top - 8} text-anchor="middle" font-weight="700" fill={colors.quiet}>
            {text}
          </text>
        ))}
      </g>
      <Legend marks={marks} />
    </svg>
  );
}

function Level({ level: { text, severity }, place }: { readonly level: TrendLevel; readonly place: number }) {
  const color = severity === null ? colors.quiet : colors[severity];
  return (
    <g>
      <line x1={0} x2={PLOT_WIDTH} y1={place} y2={place} stroke={color} stroke-width={2} stroke-dasharray="9 7" />
      <text
        x={8}
        y={place - plot.top < LINE_HEIGHT ? place + 22 : place - 8}
        fill={color}
        stroke="#ffffff"
        stroke-width={5}
        style="paint-order:stroke"
      >
        {text}
      </text>
    </g>
  );
}

function Legend({ marks }: { readonly marks: readonly TrendMark[] }) {
  return marks.map(({ at, text, kind = 'deployment' }, index) => (
    <text
      key={`${at.getTime()}${text}`}
      x={margin.left}
      y={margin.top + plot.height + 12 + (index + 1) * LINE_HEIGHT - 8}
      fill={colors.marks[kind]}
    >
      {`${index + 1}  ${text}, ${minute(at)}`}
    </text>
  ));
}
